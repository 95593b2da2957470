"""How the recommendation evolved: the study replayed to some moments of its past."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import optuna
from optuna.trial import FrozenTrial, TrialState

from surefoot.tune import StudyFile, belief_of
from surefoot.tune.report.data import Checkpoint, Interval

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyBelief, StudyRecommendation

MOMENTS = 10
FINISHED = (TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED)


def history(
    study_file: StudyFile, study: optuna.Study, belief: StudyBelief
) -> tuple[Checkpoint, ...]:
    """The recommendation after some numbers of measurements, by a model that saw no more.

    Every moment is one fit, so there are at most `MOMENTS`, closer together at the beginning,
    where the recommendation moves most.
    """
    finished = sorted(
        study.get_trials(deepcopy=False, states=FINISHED),
        key=lambda trial: (trial.datetime_complete is None, trial.datetime_complete, trial.number),
    )
    counts = _moments(len(belief.trials))
    pasts = [_past(study, finished, count) for count in counts[:-1]]
    beliefs = [*(belief_of(study_file, past) for past in pasts), belief]
    recommended = [then.recommend() for then in beliefs]
    mean, lower, upper = belief.predict([then.params for then in recommended])
    return tuple(
        Checkpoint(count, _interval(then), Interval(float(m), float(lo), float(up)))
        for count, then, m, lo, up in zip(counts, recommended, mean, lower, upper, strict=True)
    )


def _moments(measured: int) -> list[int]:
    first = min(3, measured)
    spread = np.geomspace(first, measured, min(MOMENTS, measured - first + 1))
    return sorted({round(float(count)) for count in spread})


def _past(study: optuna.Study, finished: list[FrozenTrial], count: int) -> optuna.Study:
    """A copy, in memory, of the study as it was when `count` trials had been measured."""
    with _quiet():
        past = optuna.create_study(direction=study.direction)
    for name, value in study.user_attrs.items():
        past.set_user_attr(name, value)
    measured = 0
    for trial in finished:
        past.add_trial(trial)
        measured += trial.state == TrialState.COMPLETE
        if measured == count:
            break
    return past


@contextmanager
def _quiet() -> Iterator[None]:
    """Optuna announces every new study, and a reader of the log would take these for theirs."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


def _interval(then: StudyRecommendation) -> Interval:
    return Interval(then.value, then.lower, then.upper)

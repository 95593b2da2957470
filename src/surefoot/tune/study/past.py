"""A study as it was after some of its measurements."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import optuna
from optuna.trial import FrozenTrial, TrialState

FINISHED = (TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED)


def in_order_of_end(study: optuna.Study) -> list[FrozenTrial]:
    """The finished trials of a study in the order in which they ended."""
    return sorted(
        study.get_trials(deepcopy=False, states=FINISHED),
        key=lambda trial: (trial.datetime_complete is None, trial.datetime_complete, trial.number),
    )


def past_study(study: optuna.Study, finished: list[FrozenTrial], count: int) -> optuna.Study:
    """An in-memory copy of a study after `count` measurements.

    Args:
        study: The study.
        finished: Its finished trials in order.
        count: How many of its measurements the copy has.

    Returns:
        The copy.
    """
    with _without_log():
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


@contextlib.contextmanager
def _without_log() -> Iterator[None]:
    """Suppress Optuna's messages about new studies, which are not the user's."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)

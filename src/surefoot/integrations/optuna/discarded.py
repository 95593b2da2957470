"""Finished trials whose measurement turned out to be wrong, and was discarded.

A finished trial cannot be changed in a storage, so that another one is added which says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState, create_trial

from surefoot.integrations.optuna.attributes import DISCARDS, FAILURE, INTERRUPTED


def trials_of(study: Study) -> list[FrozenTrial]:
    """The trials of a study in order, of which the discarded ones are interrupted."""
    return without_discarded(study.get_trials(deepcopy=False))


def without_discarded(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """The same trials, of which the discarded ones are interrupted.

    Args:
        trials: All trials of a study, in order.
    """
    found, marks = list(trials), [one for one in trials if DISCARDS in one.user_attrs]
    for mark in marks:
        number = mark.user_attrs[DISCARDS]
        if isinstance(number, int) and 0 <= number < len(found):
            found[number] = _interrupted(found[number], mark)
    return found


def discard(study: Study, trial: FrozenTrial, why: str) -> None:
    """Discard the measurement of a finished trial, which stays in the storage.

    Args:
        study: The study.
        trial: The trial.
        why: The reason, in words.
    """
    study.add_trial(
        create_trial(
            state=TrialState.FAIL,
            params=trial.params,
            distributions=trial.distributions,
            user_attrs={DISCARDS: trial.number, INTERRUPTED: True, FAILURE: why},
        )
    )


def _interrupted(trial: FrozenTrial, mark: FrozenTrial) -> FrozenTrial:
    changed = copy(trial)
    changed.state, changed.values = TrialState.FAIL, None
    why = {name: one for name, one in mark.user_attrs.items() if name != DISCARDS}
    changed.user_attrs = {**trial.user_attrs, **why}
    return changed

"""How trials begin and end: failures that are not the configuration's, discarded measurements."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from copy import copy
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState, create_trial

from surefoot.integrations.optuna.attributes import BLAMELESS, DISCARDS, FAILURE, INTERRUPTED

_WATCHED = "surefoot:watched"  # system attribute: the storage ends the trial if its process does
_FAILED = "surefoot:failed"  # system attribute: the process itself has ended the trial


def write_start(study: Study, trial: FrozenTrial) -> None:
    """Record that a trial begins, where the storage ends trials of processes that were killed."""
    if getattr(study._storage, "get_heartbeat_interval", lambda: None)() is not None:
        study._storage.set_trial_system_attr(trial._trial_id, _WATCHED, True)


def write_failure(study: Study, trial: FrozenTrial) -> None:
    """Record that the process of a trial has seen it fail, or that it was interrupted.

    Optuna keeps the exception in a variable of the function that calls the sampler, and tells it to
    nobody.
    """
    if _WATCHED in trial.system_attrs:
        study._storage.set_trial_system_attr(trial._trial_id, _FAILED, True)
    if any(isinstance(one, KeyboardInterrupt) for one in _run().values()):
        study._storage.set_trial_user_attr(trial._trial_id, INTERRUPTED, True)


def is_ignored_failure(trial: FrozenTrial) -> bool:
    """Whether a trial has no value for another reason than its configuration."""
    if any(trial.user_attrs.get(mark) for mark in (INTERRUPTED, BLAMELESS)):
        return True
    unseen = _WATCHED in trial.system_attrs and _FAILED not in trial.system_attrs
    return unseen and trial.state == TrialState.FAIL


def is_in_objective() -> bool:
    """Whether `study.optimize` runs an objective function, whose failure it records itself."""
    return "trial" in _run()


def _run() -> dict[str, Any]:
    """Variables by name of the function of `study.optimize` that runs a trial; empty outside."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") != "optuna.study._optimize":
        frame = frame.f_back
    return {} if frame is None else frame.f_locals


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
    """Discard the measurement of a finished trial, which cannot be changed: another trial says so.

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

"""How trials begin and end: failures that are not the configuration's are told apart."""

from __future__ import annotations

import inspect

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from surefoot.integrations.optuna.attributes import BLAMELESS, INTERRUPTED

_WATCHED = "surefoot:watched"  # system attribute: the storage ends the trial if its process does
_FAILED = "surefoot:failed"  # system attribute: the process itself has ended the trial


def write_start(study: Study, trial: FrozenTrial) -> None:
    """Record that a trial begins, where the storage ends trials of processes that were killed."""
    interval = getattr(study._storage, "get_heartbeat_interval", lambda: None)()
    if interval is not None:
        study._storage.set_trial_system_attr(trial._trial_id, _WATCHED, True)


def write_failure(study: Study, trial: FrozenTrial) -> None:
    """Record that the process of a trial has seen it fail, or that it was interrupted."""
    if _WATCHED in trial.system_attrs:
        study._storage.set_trial_system_attr(trial._trial_id, _FAILED, True)
    if _is_interrupted():
        study._storage.set_trial_user_attr(trial._trial_id, INTERRUPTED, True)


def is_ignored_failure(trial: FrozenTrial) -> bool:
    """Whether a trial has no value for another reason than its configuration."""
    if any(trial.user_attrs.get(mark) for mark in (INTERRUPTED, BLAMELESS)):
        return True
    unseen = _WATCHED in trial.system_attrs and _FAILED not in trial.system_attrs
    return unseen and trial.state == TrialState.FAIL


def _is_interrupted() -> bool:
    """Whether the objective function that has just ended in `study.optimize` had Ctrl-C pressed.

    Optuna keeps the exception in a variable of the function that calls the sampler, and tells it to
    nobody.
    """
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == "optuna.study._optimize":
            return any(isinstance(one, KeyboardInterrupt) for one in frame.f_locals.values())
        frame = frame.f_back
    return False

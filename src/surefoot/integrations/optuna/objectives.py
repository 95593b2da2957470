"""Trials of a study with several objectives, as those of one of them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from optuna.trial import FrozenTrial, TrialState


def of_objective(trials: Sequence[FrozenTrial], index: int, number: int) -> list[FrozenTrial]:
    """Trials with the value of one objective only.

    Args:
        trials: Trials of a study.
        index: Index of the objective.
        number: Number of objectives. If there are several, pruned trials are left out, since they
            do not say in which one they are worse.

    Returns:
        Copies of the trials.
    """
    return [
        _with_value(trial, index)
        for trial in trials
        if number == 1 or trial.state != TrialState.PRUNED
    ]


def _with_value(trial: FrozenTrial, index: int) -> FrozenTrial:
    one = copy(trial)
    if trial.values is not None:
        one.values = [trial.values[index]]
    return one

"""Objectives of a study: their names and values, and trials as those of one of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy

from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from surefoot._internal.numbers import FEWEST
from surefoot.integrations.optuna.attributes import STANDARD_ERROR, STANDARD_ERRORS
from surefoot.types import OBJECTIVE, InvalidInput


def names_of(number: int) -> list[str]:
    """Names of the objectives in measurements: of the first one that of the reward.

    Args:
        number: Number of objectives.
    """
    return [OBJECTIVE, *(f"{OBJECTIVE} {index}" for index in range(1, number))]


def signs_of(study: Study) -> list[float]:
    """1 for each objective that is maximised, -1 for each that is minimised."""
    return [1.0 if one == StudyDirection.MAXIMIZE else -1.0 for one in study.directions]


def finite_values(trial: FrozenTrial, log: bool = False) -> list[float]:
    """Values of a completed trial if a model can use all of them, else none.

    Args:
        trial: The trial.
        log: Whether their logarithms are modelled.
    """
    if trial.state != TrialState.COMPLETE or trial.values is None:
        return []
    usable = all(math.isfinite(one) and (one > 0.0 or not log) for one in trial.values)
    return list(trial.values) if usable else []


def column_names(study: Study) -> list[str]:
    """Names of the values of a study, as in its table of trials.

    Raises:
        InvalidInput: If two have the same name.
    """
    number = len(study.directions)
    own = ["value"] if number == 1 else [f"values_{index}" for index in range(number)]
    names = list(study.metric_names or own)
    if len({*names}) < number:
        raise InvalidInput(
            f"the objectives of study {study.study_name!r} are named {', '.join(names)}, expected "
            "different names: call `study.set_metric_names` again."
        )
    return names


def of_objective(
    trials: Sequence[FrozenTrial], index: int, names: Sequence[str]
) -> list[FrozenTrial]:
    """Trials with the value of one objective only, and its standard error.

    Args:
        trials: Trials of a study.
        index: Index of the objective.
        names: Names of the objectives.

    Returns:
        Copies of the trials.
    """
    return [_with_value(trial, index, names[index]) for trial in trials]


def _with_value(trial: FrozenTrial, index: int, name: str) -> FrozenTrial:
    one = copy(trial)
    known = trial.user_attrs.get(STANDARD_ERRORS)
    error = known.get(name) if isinstance(known, dict) else None
    if error is not None or index:  # `STANDARD_ERROR` is of the first value
        others = {key: own for key, own in trial.user_attrs.items() if key != STANDARD_ERROR}
        one.user_attrs = others if error is None else others | {STANDARD_ERROR: error}
    if trial.values is not None:
        one.values = [trial.values[index]]
    return one


def penalty_of(trials: Sequence[FrozenTrial], sign: float) -> float:
    """The worst value where it is no measurement, NaN where it is one.

    Measurements of different configurations are not equal to the last digit, and farther from all
    others than these are from one another.

    Args:
        trials: Trials of a study; of several objectives none is worse alone.
        sign: 1 if larger values are better, else -1.
    """
    read = [(finite_values(trial), trial) for trial in trials]
    known = [(sign * values[0], trial) for values, trial in read if len(values) == 1]
    worst, *others = sorted({value for value, _ in known}) or [math.nan]
    if len(others) < FEWEST or others[0] - worst <= others[-1] - others[0]:
        return math.nan
    alike = {repr(sorted(trial.params.items())) for value, trial in known if value == worst}
    return sign * worst if len(alike) >= FEWEST else math.nan

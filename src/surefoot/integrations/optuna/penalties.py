"""Values that stand for a failure: a constant beyond all others that several trials have."""

from __future__ import annotations

import math
from collections.abc import Sequence

from optuna.trial import FrozenTrial

from surefoot.integrations.optuna.objectives import finite_values

_LEAST = 3  # configurations of one value, and other values, none of which is by chance


def penalty_of(trials: Sequence[FrozenTrial], sign: float) -> float:
    """The worst value where it is no measurement, NaN where it is one.

    Measurements of different configurations are not equal to the last digit, and farther from all
    others than these are from one another.

    Args:
        trials: Trials of a study; of several objectives none is worse alone.
        sign: 1 if larger values are better, else -1.
    """
    by_value: dict[float, set[str]] = {}
    for trial in trials:
        values = finite_values(trial)
        if len(values) == 1:
            by_value.setdefault(sign * values[0], set()).add(repr(sorted(trial.params.items())))
    worst, *others = sorted(by_value) or [math.nan]
    if len(others) < _LEAST or len(by_value[worst]) < _LEAST:
        return math.nan
    return sign * worst if others[0] - worst > others[-1] - others[0] else math.nan

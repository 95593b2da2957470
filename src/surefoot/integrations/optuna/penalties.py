"""Values that stand for a failure: a constant beyond all others that several trials have."""

from __future__ import annotations

import math
from collections.abc import Sequence

from optuna.trial import FrozenTrial

from surefoot._internal.numbers import FEWEST
from surefoot.integrations.optuna.objectives import finite_values


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

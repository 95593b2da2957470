"""Whether several comparisons of one parameter can hold at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from surefoot.integrations.optuna.conditions import Comparison
from surefoot.integrations.optuna.float_grid import value_on_grid


def is_satisfiable(
    comparisons: Sequence[Comparison], distribution: BaseDistribution, special: Sequence[float]
) -> bool:
    """Whether some value of a parameter fulfils all comparisons.

    Args:
        comparisons: Comparisons of the parameter with constants of its kind.
        distribution: Its distribution, without the special values.
        special: Its special values.
    """
    constants = [constant for one in comparisons for constant in one.values]
    if isinstance(distribution, CategoricalDistribution):
        values: Sequence[Any] = distribution.choices
    else:
        # Values that fulfil all comparisons form intervals, each of which begins at the lowest
        # value, at a constant or next to one.
        near = [value for constant in constants for value in _near(constant, distribution)]
        low, high = distribution.low, distribution.high
        values = [*special, low, *(value for value in near if low <= value <= high)]
    return any(all(one.holds(value) for one in comparisons) for value in values)


def _near(constant: float, distribution: Any) -> Iterator[float]:
    """A constant and its neighbours among the values of a number, which may be beyond its ends."""
    low, high, step = distribution.low, distribution.high, distribution.step
    if step is None:
        yield constant
        yield math.nextafter(constant, math.inf)
        return
    first = math.floor((min(max(constant, low), high) - low) // step)
    for index in range(first - 1, first + 3):
        whole = isinstance(distribution, IntDistribution)
        yield low + index * step if whole else value_on_grid(low, step, index)

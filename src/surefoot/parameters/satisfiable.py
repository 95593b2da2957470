"""Whether several comparisons of one parameter can hold at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from surefoot.parameters.conditions import Comparison
from surefoot.parameters.decimal_grid import value_on_grid
from surefoot.parameters.parameter import Choice, Int, Number, Parameter


def is_satisfiable(comparisons: Sequence[Comparison], parameter: Parameter) -> bool:
    """Whether some value of a parameter fulfils all comparisons.

    Args:
        comparisons: Comparisons of the parameter with constants of its kind.
        parameter: The parameter.
    """
    constants = [constant for one in comparisons for constant in one.values]
    if isinstance(parameter, Choice):
        values: Sequence[Any] = parameter.choices
    else:
        # Values that fulfil all comparisons form intervals, each of which begins at the lowest
        # value, at a constant or next to one.
        near = [value for constant in constants for value in _near(constant, parameter)]
        low, high = parameter.low, parameter.high
        values = [*parameter.special, low, *(value for value in near if low <= value <= high)]
    return any(all(one.holds(value) for one in comparisons) for value in values)


def _near(constant: float, number: Number) -> Iterator[float]:
    """A constant and its neighbours among the values of a number, which may be beyond its ends."""
    low, high, step = number.low, number.high, number.step
    if step is None:
        yield constant
        yield math.nextafter(constant, math.inf)
        return
    first = math.floor((min(max(constant, low), high) - low) // step)
    for index in range(first - 1, first + 3):
        yield low + index * step if isinstance(number, Int) else value_on_grid(low, step, index)

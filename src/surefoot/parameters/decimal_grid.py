"""Numbers as decimal fractions: those with a step, and those near a float."""

import math
from collections.abc import Iterator
from decimal import Decimal

DIGITS = 12  # of a float that rounding errors leave alone
_STEPS = 9  # neighbouring floats that are tried, at distances of 1 to 2^8


def value_on_grid(low: float, step: float, index: int) -> float:
    """The value `index` steps above the lowest: -0.3 rather than -0.300000000000004."""
    return float(Decimal(repr(float(low))) + index * Decimal(repr(float(step))))


def floats_near(value: float) -> Iterator[float]:
    """Floats within rounding errors of a value, those of few digits first."""
    for digits in range(DIGITS, 18):
        yield float(f"{value:.{digits}g}")
    for power in range(_STEPS):
        for sign in (1.0, -1.0):
            yield value + sign * 2.0**power * math.ulp(value)

"""Values of a number with a step, as decimal fractions."""

from decimal import Decimal


def value_on_grid(low: float, step: float, index: int) -> float:
    """The value `index` steps above the lowest: -0.3 rather than -0.300000000000004."""
    return float(Decimal(repr(float(low))) + index * Decimal(repr(float(step))))

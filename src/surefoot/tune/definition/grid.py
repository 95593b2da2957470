"""Parameters with a step: which values they may have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from optuna.distributions import FloatDistribution, IntDistribution

_NEAR = 1e-8  # of a step, since decimal fractions are not exact


def is_on_grid(value: float, low: float, step: float | None) -> bool:
    """Whether a value is a whole number of steps above `low`; true without a step."""
    if step is None:
        return True
    steps = (value - low) / step
    return abs(steps - round(steps)) <= _NEAR * max(1.0, abs(steps))


def range_text(
    distribution: FloatDistribution | IntDistribution, special: Sequence[float] = ()
) -> str:
    """The values of a number's distribution in words."""
    whole = isinstance(distribution, IntDistribution)
    text = f"a {'whole ' if whole else ''}number from {distribution.low:g} to {distribution.high:g}"
    step = distribution.step
    if step is not None and not (whole and step == 1):
        text += f" in steps of {step:g}"
    return ", or ".join([text, *(f"{value:g}" for value in special)])


def unrounded(distribution: FloatDistribution | IntDistribution, value: float) -> float | None:
    """The value that a number is, or that float32 has rounded to it; None for one of none."""
    if contains(distribution, value):
        return value
    low, high, step = distribution.low, distribution.high, distribution.step
    near = [low, high]
    if step is not None and low <= value <= high:
        near.append(low + step * round((value - low) / step))
    return next((one for one in near if float(np.float32(one)) == value), None)


def contains(distribution: FloatDistribution | IntDistribution, value: float) -> bool:
    """Whether a number is a value of a distribution."""
    if not distribution.low <= value <= distribution.high:  # nor is NaN
        return False
    if isinstance(distribution, IntDistribution) and value != int(value):
        return False
    return is_on_grid(value, distribution.low, distribution.step)

"""The scale of residuals, corrected for the freedom that a fit has taken."""

from __future__ import annotations

from torch import Tensor

from surefoot.estimators.digest import WeightedValues
from surefoot.regression.spread import MAD_TO_SD, median


def robust_scale(residual: Tensor, values: WeightedValues, freedom: float) -> float:
    """1.4826 median |residual|, corrected for the degrees of freedom."""
    correction = (values.number / freedom) ** 0.5
    return max(MAD_TO_SD * float(median(residual.abs(), values.mass)) * correction, 1e-300)


def degrees_of_freedom(leverage: Tensor, values: WeightedValues) -> float:
    """Residual degrees of freedom of t rewards: t - sum of leverages (S,), at least t / 4."""
    explained = float((values.counts * leverage).sum())
    return max(values.number - explained, 0.25 * values.number)

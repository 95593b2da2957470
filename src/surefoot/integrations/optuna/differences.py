"""Differences of two correlated predictions."""

from __future__ import annotations

import torch
from torch import Tensor

from surefoot._internal.linalg import square_root
from surefoot.regression.units import Warp

_PAIRS = 4096  # of two values, for the interval of their difference


def difference_of(
    mean: Tensor, covariance: Tensor, warp: Warp, width: float
) -> tuple[float, float, float]:
    """Median and interval of the difference of two correlated values, in reward units.

    Args:
        mean: Means (2,) of the values as they were transformed.
        covariance: Their covariance (2, 2).
        warp: The transformation.
        width: The interval has the level of so many standard deviations.
    """
    signs = mean.new_tensor([1.0, -1.0])
    if warp.is_identity:
        middle = float(signs @ mean)
        margin = width * float((signs @ covariance @ signs).clamp_min(0.0).sqrt())
        return middle, middle - margin, middle + margin
    unit = torch.quasirandom.SobolEngine(2, scramble=True, seed=0).draw(_PAIRS, dtype=mean.dtype)
    draws = torch.special.ndtri(unit.clamp(1e-9, 1.0 - 1e-9)).to(mean)
    pairs = mean + draws @ square_root(covariance).T
    levels = torch.special.ndtr(width * mean.new_tensor([0.0, -1.0, 1.0]))
    ends = (warp.inverse(pairs) @ signs).quantile(levels)
    return float(ends[0]), float(ends[1]), float(ends[2])

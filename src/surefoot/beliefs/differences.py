"""Differences of two correlated predictions."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from surefoot._internal.linalg import square_root

_PAIRS = 4096  # of two values, for the interval of their difference


def difference_of(mean: Tensor, covariance: Tensor, width: float) -> tuple[float, float, float]:
    """Mean and interval of the difference of two correlated values.

    Args:
        mean: Means (2,) of the values.
        covariance: Their covariance (2, 2).
        width: The interval has the level of so many standard deviations.
    """
    signs = mean.new_tensor([1.0, -1.0])
    middle = float(signs @ mean)
    margin = width * float((signs @ covariance @ signs).clamp_min(0.0).sqrt())
    return middle, middle - margin, middle + margin


def difference_of_transformed(
    mean: Tensor, covariance: Tensor, values: Callable[[Tensor], Tensor], width: float
) -> tuple[float, float, float]:
    """Median and interval of the difference of two functions of correlated values.

    Args:
        mean: Means (2,) of the values.
        covariance: Their covariance (2, 2).
        values: An increasing function (...) of the values (...).
        width: The interval has the level of so many standard deviations.
    """
    signs = mean.new_tensor([1.0, -1.0])
    unit = torch.quasirandom.SobolEngine(2, scramble=True, seed=0).draw(_PAIRS, dtype=mean.dtype)
    draws = torch.special.ndtri(unit.clamp(1e-9, 1.0 - 1e-9)).to(mean)
    pairs = mean + draws @ square_root(covariance).T
    levels = torch.special.ndtr(width * mean.new_tensor([0.0, -1.0, 1.0]))
    ends = (values(pairs) @ signs).quantile(levels)
    return float(ends[0]), float(ends[1]), float(ends[2])

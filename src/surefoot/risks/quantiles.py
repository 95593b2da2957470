"""Weighted quantiles of values, batched over leading dimensions."""

from __future__ import annotations

import torch
from torch import Tensor

from surefoot.types import InvalidInput

TOLERANCE = 1e-12  # of the level: cumulative sums of weights miss it by rounding


def counted_as(levels: Tensor, number: int) -> Tensor:
    """Cumulative probabilities that count as having reached the levels, allowing for rounding.

    Args:
        levels: Levels (...) in (0, 1].
        number: Number of weights in the cumulative sum.

    Returns:
        Slightly smaller levels (...).
    """
    slack = max(TOLERANCE, 2.2e-16 * number)  # of the rounding of as many sums
    return levels - (0.5 * levels).clamp_max(slack)


def matching(values: Tensor, weights: Tensor) -> Tensor:
    """The values as floats, once their shape matches that of the weights."""
    for name, given in (("values", values), ("weights", weights)):
        if not isinstance(given, Tensor):
            raise InvalidInput(f"`{name}` is {given!r}, expected a tensor.")
    one = weights.ndim == 1 and values.shape[-1:] == weights.shape
    if values.ndim == 0 or not (one or weights.shape == values.shape):
        raise InvalidInput(
            f"`values` {tuple(values.shape)} came with `weights` {tuple(weights.shape)}, expected "
            "(..., n) and (n,), or the same shape."
        )
    return values if values.is_floating_point() else values.to(weights)


def ordered(values: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Sorted values (..., n) and their cumulative probabilities (..., n).

    Args:
        values: Values (..., n).
        weights: Probabilities (n,) or (..., n).

    Raises:
        InvalidInput: If the shapes do not match.
    """
    values, order = matching(values, weights).sort(-1)
    return values, weights.expand(values.shape).gather(-1, order).cumsum(-1)


def quantiles(values: Tensor, cumulative: Tensor, levels: Tensor) -> Tensor:
    """The first value whose cumulative probability reaches each level.

    Args:
        values: Sorted values (..., n).
        cumulative: Their cumulative probabilities (..., n).
        levels: Levels (..., k).

    Returns:
        Quantiles (..., k).
    """
    wanted = counted_as(levels, values.shape[-1])
    index = torch.searchsorted(cumulative.contiguous(), wanted.contiguous())
    return values.gather(-1, index.clamp_max(values.shape[-1] - 1))

"""Values at risk at several levels, as one risk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor

from surefoot._internal import checks
from surefoot.risks.quantiles import ordered, quantiles
from surefoot.types import InvalidInput

_ROUNDING = 1e-15  # of each weight: those that are normalised stay as they are


@dataclass(frozen=True)
class WeightedVaR:
    r"""Weighted mean of the values at risk at several levels.

    .. math:: \sum_i w_i \mathrm{VaR}_{\alpha_i}(f(x, Z))

    With the levels 0.05 and 0.5 it weighs the lower tail against the median. It is monotone, so
    that bounds pass through it, and a lacing value of the level whose interval is widest narrows
    it: there, u - l is at least the width of each level's interval, hence at least that of their
    mean.

    Args:
        levels: Increasing levels in (0, 1).
        weights: Their positive weights, which are scaled to sum to 1; equal by default.

    Raises:
        InvalidInput: If the levels are not increasing in (0, 1), or there are not as many positive
            weights.

    References:
        Nguyen et al. 2021, "Value-at-risk optimization with Gaussian processes", Definition 1 and
        Theorem 1, for each level; Acerbi 2002, "Spectral measures of risk", for means over levels.

    Example:
        >>> import torch
        >>> values = torch.tensor([3.0, 1.0, 2.0, 4.0])
        >>> WeightedVaR([0.25, 0.5])(values, torch.full((4,), 0.25)).item()
        1.5
    """

    levels: tuple[float, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        levels = tuple(
            checks.probability("levels", each) for each in _listed("levels", self.levels)
        )
        if not levels or any(a >= b for a, b in pairwise(levels)):
            raise InvalidInput(
                f"`levels` are {list(levels)}, expected one or more in increasing order."
            )
        weights = _listed("weights", self.weights) or (1.0,) * len(levels)
        weights = tuple(checks.positive("weights", each) for each in weights)
        if len(weights) != len(levels):
            raise InvalidInput(
                f"{len(weights)} `weights` came with {len(levels)} `levels`, expected as many."
            )
        largest = max(weights)
        if largest > 1.0 or abs(math.fsum(weights) - 1.0) > _ROUNDING * len(weights):
            total = math.fsum(each / largest for each in weights)
            weights = tuple(each / largest / total for each in weights)
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "weights", weights)

    def __call__(self, values: Tensor, weights: Tensor) -> Tensor:
        """Weighted mean (...) of the lower quantiles of values (..., n); see `Risk`."""
        each = self._each(values, weights)
        return (each * each.new_tensor(self.weights)).sum(-1)

    def lacing(self, lower: Tensor, upper: Tensor, weights: Tensor) -> Tensor:
        """Lacing values of the level whose interval is widest; see `Risk`."""
        low, high = self._each(lower, weights), self._each(upper, weights)
        widest = (high - low).argmax(-1, keepdim=True)
        below = lower <= low.gather(-1, widest)
        return below & (upper >= high.gather(-1, widest)) & (weights > 0.0)

    def _each(self, values: Tensor, weights: Tensor) -> Tensor:  # (..., n) -> (..., k)
        values, cumulative = ordered(values, weights)
        levels = values.new_tensor(self.levels).expand(*values.shape[:-1], -1)
        return quantiles(values, cumulative, levels)


def _listed(name: str, given: object) -> tuple[float, ...]:
    if isinstance(given, Tensor):
        given = given.tolist()
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidInput(f"`{name}` is {checks.shown(given)}, expected a list of numbers.")
    return tuple(given)

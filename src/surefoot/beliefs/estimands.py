r"""Functionals of the rewards at a point that are reported: location, median or mean.

The model has y = T(g(x) + e), with a monotone back-transformation T, a function g and noise e that
is symmetric. Where the measured noise is not, its location, median and mean are different numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from scipy import special
from torch import Tensor

from surefoot._internal.estimands import Estimand
from surefoot.regression.transforms import Chain

_MOST_ELEMENTS = 2**22  # of a temporary array

Ends = tuple[Tensor, Tensor, Tensor]  # a value, and the lower and the upper end of its interval


class RewardFunctional(Protocol):
    """A functional of the distribution of the rewards at a point."""

    @property
    def name(self) -> Estimand:
        """Its name."""
        ...

    def values(self, function: Tensor, units: Chain) -> Tensor:
        """The functional (...) where the transformed function is `function` (...)."""
        ...

    def interval(self, ends: Ends, units: Chain, width: float) -> Ends:
        """The functional (n,) and its interval.

        Args:
            ends: Transformed function (n,), and the ends of its interval.
            units: Transformation from the units to report in to those of the function.
            width: The interval has the level of so many standard deviations.

        Returns:
            Values (n,), lower and upper ends, in these units.
        """
        ...


@dataclass(frozen=True)
class Location:
    """The center of the noise: the back-transformed function itself.

    It is median and mean of symmetric noise, and between mode and median of skewed noise.
    """

    name: Estimand = "location"

    def values(self, function: Tensor, units: Chain) -> Tensor:
        """The function in other units."""
        return units.inverse(function)

    def interval(self, ends: Ends, units: Chain, width: float) -> Ends:
        """The ends in other units."""
        return _ordered(*map(units.inverse, ends))


@dataclass(frozen=True, eq=False)
class Median:
    """The median of the rewards: the function plus the median residual, back-transformed.

    Args:
        residuals: Gives the residuals (t,) of the rewards as they are transformed.

    References:
        David and Nagaraja 2003, "Order statistics", Section 7.1, for the interval of a median.
    """

    residuals: Callable[[], Tensor]
    name: Estimand = "median"

    def values(self, function: Tensor, units: Chain) -> Tensor:
        """The median where the function is this."""
        return units.inverse(function + self.residuals().to(function).quantile(0.5))

    def interval(self, ends: Ends, units: Chain, width: float) -> Ends:
        """The median and its interval, with the errors of function and median independent."""
        middle, lower, upper = ends
        ranked = self.residuals().to(middle).sort().values
        tail = special.ndtr(-width)  # the probability of no more residuals below the median
        first = math.floor(special.bdtrik(tail, len(ranked), 0.5))
        low, high = ranked[first], ranked[len(ranked) - 1 - first]
        median = ranked.quantile(0.5)
        below = torch.hypot(middle - lower, median - low)
        above = torch.hypot(upper - middle, high - median)
        center = middle + median
        return _ordered(*map(units.inverse, (center, center - below, center + above)))


@dataclass(frozen=True, eq=False)
class Mean:
    r"""The mean of the rewards: the average of T(g(x) + r_i) over the residuals r_i.

    The residuals stand for the noise, whatever its distribution; it must be the same everywhere on
    the transformed scale.

    Args:
        residuals: Gives the residuals (t,) of the rewards as they are transformed.

    References:
        Duan 1983, "Smearing estimate: a nonparametric retransformation method".
    """

    residuals: Callable[[], Tensor]
    name: Estimand = "mean"

    def values(self, function: Tensor, units: Chain) -> Tensor:
        """The mean where the function is this."""
        if units.is_affine:
            return units.inverse(function + self.residuals().to(function).mean())
        return self._over_residuals(lambda at: units.inverse(at).mean(-1), function)

    def interval(self, ends: Ends, units: Chain, width: float) -> Ends:
        """The mean and its interval, with the errors of function and average independent."""

        def error(at: Tensor) -> Tensor:  # of the function, that changes the average by its own
            values = units.inverse(at)
            own = values.var(-1, correction=0).sqrt() / max(at.shape[-1] - 1, 1) ** 0.5
            return (own / (-units.log_slope(values)).exp().mean(-1)).nan_to_num()

        middle, lower, upper = ends
        different = middle[:1] if units.is_affine else middle
        margin = width * self._over_residuals(error, different)
        low = middle - torch.hypot(middle - lower, margin)
        high = middle + torch.hypot(upper - middle, margin)
        return _ordered(*(self.values(end, units) for end in (middle, low, high)))

    def _over_residuals(self, statistic: Callable[[Tensor], Tensor], function: Tensor) -> Tensor:
        """A statistic, (n, t) -> (n,), of the function plus each residual (...)."""
        residuals = self.residuals().to(function)
        parts = function.reshape(-1, 1).split(max(1, _MOST_ELEMENTS // len(residuals)))
        return torch.cat([statistic(part + residuals) for part in parts]).reshape(function.shape)


def estimand_of(name: Estimand, residuals: Callable[[], Tensor]) -> RewardFunctional:
    """The estimand of a name.

    Args:
        name: The name.
        residuals: Gives the residuals (t,) of the rewards as they are transformed.
    """
    if name == "location":
        return LOCATION
    return Median(residuals) if name == "median" else Mean(residuals)


LOCATION = Location()


def _ordered(middle: Tensor, one: Tensor, other: Tensor) -> Ends:
    """A value and the ends of its interval, the lower one first."""
    return middle, torch.minimum(one, other), torch.maximum(one, other)

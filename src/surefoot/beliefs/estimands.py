r"""Functionals of the rewards at a point that are reported: location, median or mean.

The model has y = T(g(x) + e), with a monotone back-transformation T, a function g and noise e that
is symmetric. Where the measured noise is not, its location, median and mean are different numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from scipy import special
from torch import Tensor

from surefoot._internal.estimands import Estimand
from surefoot._internal.linalg import square_root
from surefoot._internal.numbers import ROUNDING, TINY, rows_at_once
from surefoot.regression.transforms import UNCHANGED, Chain

Ends = tuple[Tensor, Tensor, Tensor]  # a value, and the lower and the upper end of its interval


@dataclass(frozen=True)
class Scales:
    """Scales of a quantity: as it is modelled, as a reward and as it is reported.

    Args:
        units: Transformation from reported values to rewards.
        transform: Transformation from rewards to those that are modelled.
    """

    units: Chain = UNCHANGED
    transform: Chain = UNCHANGED

    @property
    def is_affine(self) -> bool:
        """Whether equal differences of reported values are equal differences of the function."""
        return self.units.is_affine and self.transform.is_affine

    @property
    def whole(self) -> Chain:
        """Transformation from reported values to those of the function."""
        return self.units.then(*self.transform.parts)

    def reported(self, function: Tensor) -> Tensor:
        """Reported values (...) of a function (...)."""
        return self.units.inverse(self.transform.inverse(function))


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals of rewards, as they are transformed and as they are.

    A transformation that compresses is fitted to the noise where most was measured. Where it is of
    another size, an outlier of a few times the noise, added to another value of the function and
    transformed back, may become thousands of times as large as any reward. So the scale is the one
    on which the residuals are more alike, and nowhere is a reward off by more than any was.

    Args:
        transformed: Residuals (t,) of the rewards as they are transformed.
        offsets: Residuals (t,) of the rewards.
        is_additive: Whether these are the same everywhere, rather than those.
    """

    transformed: Tensor
    offsets: Tensor
    is_additive: bool = False

    @classmethod
    def of(cls, mean: Tensor, rewards: Tensor, stretch: Tensor, transform: Chain) -> Residuals:
        """Residuals of rewards (t,), by the likelihood of Laplace noise.

        Args:
            mean: Posterior means (t,) as transformed.
            rewards: The rewards (t,).
            stretch: How many times (t,) as large the noise is as what is left of it.
            transform: The transformation.

        Example:
            >>> from surefoot.regression.transforms import Log
            >>> generator = torch.Generator().manual_seed(0)
            >>> noise = 0.1 * torch.randn(100, dtype=torch.float64, generator=generator)
            >>> level = torch.linspace(0.0, 5.0, 100, dtype=torch.float64)
            >>> one, logarithms = torch.ones(100), Chain((Log(),))
            >>> Residuals.of(level, (level + noise).exp(), one, logarithms).is_additive
            False
            >>> Residuals.of(level, level.exp() + noise, one, logarithms).is_additive
            True
        """
        transformed = stretch * (transform(rewards) - mean)
        offsets = stretch * (rewards - transform.inverse(mean))
        slope = float(transform.log_slope(rewards).mean())
        return cls(transformed, offsets, _log_density(offsets) > _log_density(transformed) + slope)

    def at(self, function: Tensor, transform: Chain) -> Tensor:
        """Rewards (n, t) that are off by each, where the transformed function is this (n, 1)."""
        center, offsets = transform.inverse(function), self.offsets.to(function)
        if self.is_additive:
            return center + offsets
        rewards = transform.inverse(function + self.transformed.to(function))
        return rewards.clamp(center + offsets.min(), center + offsets.max())


def _log_density(residuals: Tensor) -> float:
    """Mean log density of residuals under Laplace noise of their own scale, up to a constant."""
    return -math.log(max(float(residuals.abs().mean()), TINY))


@dataclass(frozen=True)
class Location:
    """The center of the noise: the back-transformed function itself.

    It is median and mean of symmetric noise, and between mode and median of skewed noise.
    """

    name: Estimand = "location"

    def values(self, function: Tensor, scales: Scales) -> Tensor:
        """The function in other units."""
        return scales.reported(function)

    def interval(self, ends: Ends, scales: Scales, width: float) -> Ends:
        """The functional (n,) and its interval.

        Args:
            ends: Transformed function (n,), and the ends of its interval.
            scales: Scales of the function, the rewards and the values.
            width: The interval has the level of so many standard deviations.

        Returns:
            Values (n,), lower and upper ends, in these units.
        """
        return _ordered(*map(scales.reported, ends))


@dataclass(frozen=True, eq=False)
class Median:
    """The median of the rewards: the function plus the median residual, back-transformed.

    Args:
        residuals: Gives the residuals of the rewards.

    References:
        David and Nagaraja 2003, "Order statistics", Section 7.1, for the interval of a median.
    """

    residuals: Callable[[], Residuals]
    name: Estimand = "median"

    def values(self, function: Tensor, scales: Scales) -> Tensor:
        """The median where the function is this."""
        return scales.reported(function + self.residuals().transformed.to(function).quantile(0.5))

    def interval(self, ends: Ends, scales: Scales, width: float) -> Ends:
        """The median and its interval, with the errors of function and median independent."""
        middle, lower, upper = ends
        ranked = self.residuals().transformed.to(middle).sort().values
        tail = special.ndtr(-width)  # the probability of no more residuals below the median
        first = math.floor(special.bdtrik(tail, len(ranked), 0.5))
        low, high = ranked[first], ranked[len(ranked) - 1 - first]
        median = ranked.quantile(0.5)
        below = torch.hypot(middle - lower, median - low)
        above = torch.hypot(upper - middle, high - median)
        center = middle + median
        return _ordered(*map(scales.reported, (center, center - below, center + above)))


@dataclass(frozen=True, eq=False)
class Mean:
    r"""The mean of the rewards: the average over what each measured reward is off by.

    The residuals stand for the noise, whatever its distribution; see `Residuals` for how it is
    carried over to where fewer were measured.

    Args:
        residuals: Gives the residuals of the rewards.

    References:
        Duan 1983, "Smearing estimate: a nonparametric retransformation method"; Hall 1992, "The
        bootstrap and Edgeworth expansion", Section 3.10, for the interval of a skewed mean.
    """

    residuals: Callable[[], Residuals]
    name: Estimand = "mean"

    def values(self, function: Tensor, scales: Scales) -> Tensor:
        """The mean where the function is this."""
        residuals = self.residuals()
        if residuals.is_additive and scales.units.is_affine:
            average = residuals.offsets.to(function).mean()
            return scales.units.inverse(scales.transform.inverse(function) + average)
        if scales.is_affine:
            return scales.reported(function + residuals.transformed.to(function).mean())
        return self._over_residuals(lambda values: values.mean(-1), function, scales)

    def interval(self, ends: Ends, scales: Scales, width: float) -> Ends:
        """The mean and its interval, with the errors of function and average independent.

        The average of a skewed sample is the more likely too close to its bulk the longer its tail
        is, so that the interval is longer on that side.
        """

        def error(values: Tensor) -> Tensor:  # of the average, in units of the rewards
            own = values.var(-1, correction=0).sqrt() / max(values.shape[-1] - 1, 1) ** 0.5
            return scales.units.errors(values.mean(-1), own).nan_to_num()

        def lean(values: Tensor) -> Tensor:  # share of the error, by which an end is farther
            off = values - values.mean(-1, keepdim=True)
            third, second = off.pow(3).mean(-1), off.square().mean(-1)
            return (third / second.pow(1.5)).nan_to_num() * width / (3.0 * values.shape[-1] ** 0.5)

        alike = scales.units.is_affine and (
            self.residuals().is_additive or scales.transform.is_affine
        )
        different = ends[0][:1] if alike else ends[0]
        margin = width * self._over_residuals(error, different, scales)
        sign = 1.0 if scales.units.is_increasing else -1.0
        moved = sign * self._over_residuals(lean, different, scales)
        middle, lower, upper = (scales.units(self.values(end, scales)) for end in ends)
        low = middle - torch.hypot(middle - lower, margin * (1.0 - moved.clamp_max(0.0)))
        high = middle + torch.hypot(upper - middle, margin * (1.0 + moved.clamp_min(0.0)))
        return _ordered(*map(scales.units.inverse, (middle, low, high)))

    def _over_residuals(
        self, statistic: Callable[[Tensor], Tensor], function: Tensor, scales: Scales
    ) -> Tensor:
        """A statistic, (n, t) -> (n,), of the reported values that each residual gives (...)."""
        residuals = self.residuals()
        found = [
            statistic(scales.units.inverse(residuals.at(part, scales.transform)))
            for part in function.reshape(-1, 1).split(rows_at_once(len(residuals.offsets)))
        ]
        return torch.cat(found).reshape(function.shape)


RewardFunctional = Location | Median | Mean
"""A functional of the distribution of the rewards at a point."""


def estimand_of(name: Estimand, residuals: Callable[[], Residuals]) -> RewardFunctional:
    """The estimand of a name.

    Args:
        name: The name.
        residuals: Gives the residuals of the rewards.
    """
    if name == "location":
        return LOCATION
    return Median(residuals) if name == "median" else Mean(residuals)


LOCATION = Location()


def _ordered(middle: Tensor, one: Tensor, other: Tensor) -> Ends:
    """A value and the ends of its interval, the lower one first."""
    return middle, torch.minimum(one, other), torch.maximum(one, other)


def of_measured_sign(ends: Ends, measured: Tensor, zero: float = 0.0) -> Ends:
    """A value and its interval, whose ends have no sign that none of the measured values has.

    A value of that sign stays as it is, with its interval: it contradicts that there is but one.

    Args:
        ends: Values (n,), and the ends of their intervals.
        measured: Measured values (t,) of the same quantity.
        zero: End that stands for the value 0: where `ends` are differences from a value, less it.

    Example:
        >>> ends = torch.tensor([[2.0, -2.0], [-1.0, -3.0], [5.0, -1.0]])
        >>> _, lower, upper = of_measured_sign((*ends,), torch.tensor([0.0, 3.0]))
        >>> lower.tolist(), upper.tolist()
        ([0.0, -3.0], [5.0, -1.0])
    """
    middle, lower, upper = ends
    least = zero if bool((measured >= 0.0).all()) else -math.inf
    most = zero if bool((measured <= 0.0).all()) else math.inf
    possible = (middle <= most) & (middle >= least)
    low, high = (torch.where(possible, end.clamp(least, most), end) for end in (lower, upper))
    return middle, low, high


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
    draws = torch.special.ndtri(unit.clamp(ROUNDING, 1.0 - ROUNDING)).to(mean)
    pairs = mean + draws @ square_root(covariance).T
    levels = torch.special.ndtr(width * mean.new_tensor([0.0, -1.0, 1.0]))
    ends = (values(pairs) @ signs).quantile(levels)
    return float(ends[0]), float(ends[1]), float(ends[2])

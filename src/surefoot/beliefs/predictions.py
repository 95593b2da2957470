"""Predictions of a belief as they are reported: of the estimand, in the units, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot._internal.linalg import square_root
from surefoot._internal.numbers import ROUNDING, TINY
from surefoot.beliefs.constraints import NO_CONSTRAINTS
from surefoot.beliefs.estimands import LOCATION, Ends, RewardFunctional, Scales
from surefoot.beliefs.failure import NO_FAILURES
from surefoot.beliefs.intervals import CONFIDENCE_BOUNDS, Interval
from surefoot.regression.transforms import UNCHANGED, Chain
from surefoot.types import Assumptions

if TYPE_CHECKING:
    from surefoot.beliefs.belief import Belief


@dataclass(frozen=True)
class Reported:
    """What is reported of the rewards at a design.

    Args:
        interval: Rule for the ends of intervals.
        estimand: Functional of the rewards.
        units: Transformation from the units to report in to reward units.
        assumed: What certificates rest on; None where the bounds themselves have a theorem.
    """

    interval: Interval = CONFIDENCE_BOUNDS
    estimand: RewardFunctional = LOCATION
    units: Chain = UNCHANGED
    assumed: Assumptions | None = None


AS_MODELLED = Reported()


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of a belief.

    Args:
        of: The belief.
    """

    of: Belief

    @cached_property
    def belief(self) -> Belief:
        """The belief whose bounds are the ends of reported intervals, failures aside."""
        band = self.of.reported.interval(self.of.outcome, self.of.band)
        return replace(self.of, failures=NO_FAILURES, constraints=NO_CONSTRAINTS, band=band)

    @cached_property
    def scales(self) -> Scales:
        """Scales of the posterior, the rewards and the reported values."""
        return Scales(self.of.reported.units, self.of.outcome.transform)

    def at_designs(self, x: Tensor) -> Ends:
        """Value of the estimand and its interval, at located designs (n, dx)."""
        with torch.no_grad():
            return self._interval(self.belief.candidates.risks(x))

    def at_inputs(self, points: Tensor, offset: Tensor | float = 0.0) -> Ends:
        """Value of the estimand and its interval at model inputs (n, d), whatever the risk.

        Args:
            points: Designs, each followed by its environment on a `Joint` space.
            offset: Added to the posterior mean (n,), such as an effect of conditions.
        """
        if not len(points):
            return (points.new_zeros(0).cpu(),) * 3
        with torch.no_grad():
            band = self.belief.band
            mean, lower, upper = (end.cpu() + offset for end in band.clipped(band.ends(points)))
            return self._interval((mean, lower, upper))

    def _interval(self, ends: Ends) -> Ends:
        return self.of.reported.estimand.interval(ends, self.scales, self.belief.band.width)

    def compared(self, pair: Tensor) -> Ends:
        """Difference between two designs (2, dx), of logarithms where `is_ratio`; its interval."""
        outcome, band = self.of.outcome, self.belief.band
        with torch.no_grad():
            covariance = outcome.integrated.joint(pair).covariance
            # Each alone, so that a design does not differ from itself by rounding.
            mean = torch.cat([band.predictive.mean(one) for one in pair.split(1)])
            if outcome.transform.is_affine:
                ends = difference_of(mean, covariance, band.width)
            else:
                ends = difference_of_transformed(mean, covariance, self.comparable, band.width)
        sign = 1.0 if self.of.reported.units.is_increasing else -1.0
        middle, lower, upper = torch.tensor([sign * end for end in ends], dtype=torch.float64)
        return middle, torch.minimum(lower, upper), torch.maximum(lower, upper)

    @property
    def is_ratio(self) -> bool:
        """Whether logarithms of the reported values are modelled, so that ratios are compared."""
        return not self.of.reported.units.is_affine

    def comparable(self, function: Tensor) -> Tensor:
        """Reward (...) where the transformed function is this, up to a constant; larger is better.

        Of the estimand; the logarithms of reported values where these are modelled.
        """
        if self.of.outcome.transform.is_affine:
            return function
        values = self.of.reported.estimand.values(function, self.scales)
        return self.of.reported.units(values.clamp(TINY, 1.0 / TINY) if self.is_ratio else values)


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

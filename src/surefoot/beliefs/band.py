"""Confidence bands: a posterior, with bounds of its function at each point."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from surefoot._internal.numbers import ROUNDING, TINY
from surefoot.beliefs.other_ridges import FoundAnew, OtherRidges
from surefoot.beliefs.self_normalised import SelfNormalised
from surefoot.regression.arm_posterior import ArmPosterior
from surefoot.regression.draws import Path
from surefoot.regression.observations import Pull
from surefoot.regression.posterior import Posterior, Predictive
from surefoot.regression.sample import Sample
from surefoot.regression.uncertainty import CERTAIN_HYPERPARAMETERS, Uncertainty
from surefoot.widths.least_squares import self_normalised
from surefoot.widths.progress import Progress

PriorDraw = Callable[[torch.Generator], Path]


class BandEnds(NamedTuple):
    """Bounds of the function at points (n,), in units of the posterior.

    Args:
        mean: Posterior mean (n,).
        lower: Lower bound (n,).
        upper: Upper bound (n,).
    """

    mean: Tensor
    lower: Tensor
    upper: Tensor


@dataclass(frozen=True)
class Symmetric:
    """mean +- width * deviation."""

    contradicted: bool = False
    is_of_some: ClassVar[bool] = True

    def ceiling(self, posterior: ArmPosterior, width: float) -> Tensor:
        """Upper bounds of all arms (A,), or what these are at most, where they are not known."""
        return self.bound(posterior, width, posterior.points, 1.0)

    def within(self, posterior: ArmPosterior) -> Symmetric:
        """The same for a posterior with a table of some of the arms alone."""
        return self

    def ends(self, posterior: Predictive, width: float, points: Tensor) -> BandEnds:
        """Mean and bounds at points (n, d), differentiable.

        Args:
            posterior: The posterior, which may be conditioned on pending pulls.
            width: Multiplier of its deviation for a band that is one.
            points: Points (n, d).
        """
        mean, deviation = posterior.mean_and_deviation(points)
        reach = width * deviation
        return BandEnds(mean, mean - reach, mean + reach)

    def bound(self, posterior: Predictive, width: float, points: Tensor, share: float) -> Tensor:
        """Mean plus a share of the distance of the upper bound, of the lower one if negative."""
        mean, deviation = posterior.mean_and_deviation(points)
        return torch.add(mean, deviation, alpha=share * width)

    def draw(
        self,
        posterior: Posterior,
        width: float,
        scale: float,
        generator: torch.Generator,
        prior: PriorDraw,
    ) -> Path:
        """A function drawn from the posterior of the rewards, as far from the mean as the bounds.

        Its deviation is `scale` times half the distance of the bounds, in place of that of the
        posterior.
        """
        return posterior.of_rewards.path(generator, prior, scale * width)


SYMMETRIC = Symmetric()


@dataclass(frozen=True, eq=False)
class Band:
    """Posterior of a function, with bounds of it at each point.

    Args:
        posterior: The posterior, conditioned on pending pulls if there are any.
        width: Multiplier beta of the standard deviation in the bounds.
        shape: The bounds at each point, given the posterior and the width.
        uncertainty: Uncertainty of the hyperparameters that mean and deviation are integrated over.
        pulls: Pending pulls that the posterior is conditioned on.
        limit: Bound on the absolute value of the function by what is assumed of it.
    """

    posterior: Posterior
    width: float
    shape: Shape = SYMMETRIC
    uncertainty: Uncertainty = CERTAIN_HYPERPARAMETERS
    pulls: Sequence[Pull] = ()
    limit: float = math.inf

    @cached_property
    def predictive(self) -> Predictive:
        """The posterior, integrated over the hyperparameters."""
        return self.uncertainty.over(self.posterior, self.pulls)

    def ends(self, points: Tensor) -> BandEnds:
        """Mean and bounds at points (n, d), differentiable."""
        return self.shape.ends(self.predictive, self.width, points)

    def of_width(self, width: float) -> Band:
        """The band with mean +- width * deviation, within those of others."""
        shape = self.shape
        if isinstance(shape, Intersection):
            shape = replace(shape, alone=False)
        return replace(self, width=width, shape=shape)

    def clipped(self, ends: Sequence[Tensor]) -> BandEnds:
        """Mean and bounds (...) within what is assumed of the function.

        Choices are by bounds that are not: most are equal to the limit at the start.
        """
        return BandEnds(*(end.clamp(-self.limit, self.limit) for end in ends))

    def bound(self, points: Tensor, share: float) -> Tensor:
        """Mean plus a share of the distance of the upper bound, of the lower one if negative."""
        return self.shape.bound(self.predictive, self.width, points, share)

    def draw(self, scale: float, generator: torch.Generator, prior: PriorDraw) -> Path:
        """A function as far from the mean as the bounds, see `Shape.draw`."""
        return self.shape.draw(self.posterior, self.width, scale, generator, prior)

    def among(self, arms: Tensor) -> Band:
        """The band with a table of some of the arms (n,) alone, where it is of all."""
        posterior = self.posterior.among(arms)  # type: ignore[attr-defined]
        return replace(self, posterior=posterior, shape=self.shape.within(posterior))

    def with_pending(self, pulls: Sequence[Pull]) -> Band:
        """The band whose deviation is conditioned on pulls without rewards."""
        if not pulls:
            return self
        return replace(self, posterior=self.posterior.updated(pulls), pulls=(*self.pulls, *pulls))


@dataclass(frozen=True, eq=False)
class Intersection:
    """Intersection of bands mean_a +- reach_a, which hold at once.

    That of the posterior, mean +- width * deviation, is one of them, unless others stand alone.
    Pending pulls narrow all of them as they narrow the posterior. `scale` is the factor of the
    distance from the mean.

    Args:
        others: Those with other regularisations; None where there are none.
        scale: Factor on the distance of the ends from the mean, contained in the posterior's width.
        alone: Whether the others are all there are.
    """

    others: OtherRidges | None
    scale: float
    alone: bool = False

    @property
    def is_of_some(self) -> bool:
        """With a scale below 1, a mean that has moved up may raise the upper bound."""
        return self.scale == 1.0 and isinstance(self.others, FoundAnew)

    @property
    def contradicted(self) -> bool:
        return isinstance(self.others, SelfNormalised) and self.others.contradicted

    def ceiling(self, posterior: ArmPosterior, width: float) -> Tensor:
        return torch.minimum(SYMMETRIC.ceiling(posterior, width), self.others.ceiling)  # type: ignore[union-attr]

    def within(self, posterior: ArmPosterior) -> Intersection:
        return replace(self, others=replace(self.others, posterior=posterior))  # type: ignore[type-var]

    def ends(self, posterior: Predictive, width: float, points: Tensor) -> BandEnds:
        mean, deviation = posterior.mean_and_deviation(points)
        left: Tensor | float = 1.0
        if posterior.of_rewards is not posterior:
            left = deviation / posterior.of_rewards.mean_and_deviation(points)[1].clamp_min(TINY)
        reach = (width / self.scale) * deviation if self.scale > 0.0 else 0.0 * deviation
        lowers, uppers = (mean - reach).unsqueeze(0), (mean + reach).unsqueeze(0)
        if self.others is not None and self.scale > 0.0:
            means, reaches = self.others.band(points)
            reaches = left * reaches
            own = slice(1 if self.alone else 0, None)
            lowers = torch.cat([lowers, means - reaches])[own]
            uppers = torch.cat([uppers, means + reaches])[own]
        lower, upper = lowers.amax(0), uppers.amin(0)
        empty = lower > upper  # by rounding, or where the rewards contradict the assumptions
        lower, upper = lower.where(~empty, lowers[0]), upper.where(~empty, uppers[0])
        mean = mean.clamp(lower, upper)
        return BandEnds(
            mean, mean - self.scale * (mean - lower), mean + self.scale * (upper - mean)
        )

    def bound(self, posterior: Predictive, width: float, points: Tensor, share: float) -> Tensor:
        if share == 0.0:
            return posterior.mean(points)
        mean, lower, upper = self.ends(posterior, width, points)
        return mean + abs(share) * ((upper if share > 0.0 else lower) - mean)

    def draw(
        self,
        posterior: Posterior,
        width: float,
        scale: float,
        generator: torch.Generator,
        prior: PriorDraw,
    ) -> Path:
        rewarded = posterior.of_rewards
        path = rewarded.path(generator, prior, scale)

        def widened(points: Tensor) -> Tensor:
            mean, deviation = rewarded.mean_and_deviation(points)
            _, lower, upper = self.ends(rewarded, width, points)
            return mean + (upper - lower) / (2.0 * deviation) * (path(points) - mean)

        return widened


Shape = Symmetric | Intersection
"""Bounds of a function at each point, given its posterior and a width."""


def residual_of(sample: Sample, prior_variance: float) -> Tensor:
    """What the features leave of the prior variance at the sites (S,), rounding aside."""
    return sample.residual * (sample.residual > ROUNDING * prior_variance)


def self_normalised_of(
    rule: self_normalised, sample: Sample, posterior: Posterior, progress: Progress
) -> Shape:
    """The bounds of `self_normalised`.

    Args:
        rule: The width.
        sample: The rewards.
        posterior: Their posterior.
        progress: State of the run.
    """
    residual = residual_of(sample, progress.prior_variance)
    bands = SelfNormalised.of(rule, sample, residual, posterior.embedding, progress)
    return Intersection(bands, rule.scale, alone=True)

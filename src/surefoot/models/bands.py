"""Bands of several regularisations, from regressions that are kept up to date or found anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from surefoot.beliefs.band import Intersection, Shape, Symmetric, residual_of
from surefoot.beliefs.other_ridges import FoundAnew, KeptUp
from surefoot.beliefs.self_normalised import Assumptions
from surefoot.regression.observations import Pull
from surefoot.regression.posterior import Posterior
from surefoot.regression.regression import Estimate, Regression
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.sample import Sample
from surefoot.widths.progress import Progress


@runtime_checkable
class BandRule(Assumptions, Protocol):
    """Width whose bounds are narrowed by those of other regularisations, as `dual_mixture`."""

    @property
    def scale(self) -> float:
        """Factor on the distance of the bounds from the mean."""

    def ridges(self, ridge: float) -> tuple[float, ...]:
        """The other regularisations."""

    def squared_width(self, progress: Progress, ridge: float, misfit: float) -> float:
        """Square of the width for one of them, given ridge y' (K + ridge I)^{-1} y."""


@dataclass(eq=False)
class ShiftedRegressions:
    """The regression with other regularisations, kept up to date as points are measured.

    Args:
        ridges: The other regularisations.
        version: Version of the features that they are in.
        regressions: One for each.
    """

    ridges: tuple[float, ...]
    version: int = -1
    regressions: tuple[Regression, ...] = ()

    def update(self, pull: Pull) -> None:
        """Count pulls of one point."""
        for regression in self.regressions:
            regression.update(pull)

    def of(self, regression: Regression, version: int) -> tuple[Regression, ...]:
        """The regressions in the features of one, built again where these have changed.

        There are none in features that change with every reward.
        """
        if version != self.version:
            self.version = version
            self.regressions = regression.with_ridges(self.ridges)
        return self.regressions


def misfit(sample: Sample, ridge: float) -> float:
    """ridge y' (K + ridge I)^{-1} y, the least of ||y - g||^2 + ridge ||g||^2, y being weighted."""
    counts = sample.weighted_counts
    if ridge == sample.factor.ridge:
        factor = sample.factor_of(counts)
    else:
        known = counts if counts.numel() else sample.counts
        factor = RidgeFactor.of(sample.features, ridge, known, sample.products)
    moments = sample.moments(sample.weighted_sums)
    return max(sample.weighted_squares - float(moments @ factor.solve(moments)), 0.0)


def unexplained(sample: Sample, prior_variance: float) -> float:
    """tr(K - K~) / ridge, K~ being the kernel matrix of the features; rounding aside."""
    return float(sample.counts @ residual_of(sample, prior_variance)) / sample.factor.ridge


def narrowed(
    rule: BandRule,
    ridges: Sequence[float],
    regressions: Sequence[Regression],
    sample: Sample,
    posterior: Posterior,
    progress: Progress,
) -> Shape:
    """The bounds of a rule, or symmetric ones where the rewards contradict it.

    Args:
        rule: The rule.
        ridges: The other regularisations.
        regressions: The regression with these, where they are kept up to date.
        sample: That of the regression itself.
        posterior: Its posterior.
        progress: State of the run.
    """
    if not ridges:
        return Intersection(None, rule.scale)
    others: KeptUp | FoundAnew
    if regressions:
        others, theta = _kept_up(regressions, sample)
    else:
        others = FoundAnew.of(ridges, sample, posterior)
        theta = others.coefficients
    moments = sample.moments(sample.weighted_sums)
    left = (sample.weighted_squares - theta @ moments).clamp_min(0.0).tolist()
    squares = [rule.squared_width(progress, *each) for each in zip(ridges, left, strict=True)]
    if min(squares) < 0.0:
        return Symmetric(contradicted=True)
    widths = moments.new_tensor(squares).sqrt().unsqueeze(-1)
    return Intersection(replace(others, widths=widths), rule.scale)


def _kept_up(regressions: Sequence[Regression], sample: Sample) -> tuple[KeptUp, Tensor]:
    """Posteriors of regressions, without widths, and their coefficients (s, m)."""
    counts, posteriors, coefficients = sample.weighted_counts, [], []
    moments = sample.moments(sample.weighted_sums)
    for regression in regressions:
        shifted = regression.sample(sample.observations, sample.units)
        estimate = Estimate(shifted.factor_of(counts).solve(moments), counts)
        posteriors.append(regression.posterior(shifted, estimate))
        coefficients.append(estimate.coefficients)
    return KeptUp(posteriors, counts), torch.stack(coefficients)

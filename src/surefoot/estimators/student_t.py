"""Student-t noise, its scale and tail learnt: outliers lose their weight as they should."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from surefoot._internal import checks
from surefoot.estimators.digest import Digest
from surefoot.estimators.estimator import Estimate, Measured, totals
from surefoot.estimators.log import Terms
from surefoot.estimators.spread import median, robust_spread
from surefoot.regression.ridge import RidgeFactor

_LEAST_START = 1e-14


@dataclass(frozen=True)
class StudentT:
    """Variational regression with Student-t noise of variance parameter `ridge`.

    Each reward has its own precision tau ~ Gamma; its expectation
    w = (nu + 1) / (nu + E[r^2] / ridge), with E[r^2] = (y - mu)^2 + sigma^2, is the weight of the
    reward in both the coefficients and the geometry (Tipping and Lawrence 2005, eq. 12-17).
    Rewards must be in units in which the noise variance is the ridge.
    """

    dof: float = 4.0
    passes: int = 8
    tolerance: float = 1e-2

    def __post_init__(self) -> None:
        checks.positive("dof", self.dof)
        checks.count("passes", self.passes)
        checks.positive("tolerance", self.tolerance)

    def log(self, terms: Terms) -> Digest:
        return Digest()

    def __call__(
        self, factor: RidgeFactor, sample: Measured, start: Tensor | None = None
    ) -> Estimate:
        y, site, ridge = sample.rewards, sample.site, factor.ridge
        weights = cautious_weights(y, start, sample.mass)
        threshold = (ridge * (self.dof + 2.0)) ** 0.5  # where w = (nu + 1) / (2 nu + 2) = 1/2
        for _ in range(self.passes):
            weighted, theta = _weighted_fit(factor, sample, weights)
            variance = ridge * weighted.leverage(sample.features) + sample.residual
            squared = (y - (sample.features @ theta)[site]).square() + variance[site]
            update = precision(squared / ridge, self.dof)
            moved = float((update - weights).abs().max())
            weights = update
            if moved <= self.tolerance:
                break
        weighted, theta = _weighted_fit(factor, sample, weights)
        outlying = weights < 0.5
        last = bool(outlying[-1])
        if sample.mass is not None:
            number = int(sample.mass[outlying].sum())
            return Estimate(theta, weighted, None, None, threshold, number, last)
        relative, number = weights.clamp_max(1.0), int(outlying.sum())
        return Estimate(theta, weighted, relative, weights, threshold, number, last)


def cautious_weights(
    rewards: Tensor, known: Tensor | None = None, mass: Tensor | None = None
) -> Tensor:
    """Weights (t,) to start from: those known of the first rewards, cautious ones for the rest.

    The bound has several optima: a lone spike started at full weight is interpolated, and then
    fits well. Started low, it is judged by what its neighbours say.
    """
    centred = (rewards - median(rewards, mass)) / robust_spread(rewards, mass)
    weights = (1.0 / (1.0 + (centred / 3.0).square())).clamp_min(_LEAST_START)
    if known is not None:
        weights[: len(known)] = known
    return weights


def precision(squared: Tensor, dof: float) -> Tensor:
    """E[tau] = (nu + 1) / (nu + E[r^2] / s^2), from expected squares in noise variances."""
    return (dof + 1.0) / (dof + squared)


def _weighted_fit(
    factor: RidgeFactor, sample: Measured, weights: Tensor
) -> tuple[RidgeFactor, Tensor]:
    weighted = RidgeFactor.of(sample.features, factor.ridge, totals(sample, weights))
    return weighted, weighted.solve(sample.features.T @ totals(sample, weights * sample.rewards))

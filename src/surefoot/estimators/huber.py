"""Huber's estimator: rewards far from the fit pull with a bounded force."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot import _checks
from surefoot.estimators.estimator import Estimate, Sample
from surefoot.estimators.spread import MAD_TO_SD, robust_spread
from surefoot.ridge import RidgeFactor

_LEAST_SCALE = 1e-3  # of the spread of the rewards; residuals that are mostly 0 have no scale


@dataclass(frozen=True)
class Huber:
    """Ridge regression with weights min(1, k s / |residual|), s = 1.4826 median |residual|.

    Needs no bound on rewards or moments. `k` = 1.345 keeps 95 % of the efficiency of least
    squares under Gaussian noise (Huber 1964). The geometry stays that of x alone: coefficients
    are found by repeated solves with pseudo-rewards mu + w (y - mu), which has Huber's estimate
    as its fixed point.
    """

    k: float = 1.345
    passes: int = 30
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        _checks.positive("k", self.k)
        _checks.count("passes", self.passes)
        _checks.positive("tolerance", self.tolerance)

    def __call__(
        self, factor: RidgeFactor, sample: Sample, start: Tensor | None = None
    ) -> Estimate:
        y, site, sites = sample.rewards, sample.site, len(sample.features)
        freedom = degrees_of_freedom(factor, sample)
        least = _LEAST_SCALE * robust_spread(y)
        theta = factor.solve(sample.features.T @ _winsorised_sums(sample))
        weights, threshold = torch.ones_like(y), float("inf")
        for _ in range(self.passes):
            fitted = sample.features @ theta
            residual = y - fitted[site]
            threshold = self.k * max(robust_scale(residual, freedom), least)
            weights = (threshold / residual.abs().clamp_min(1e-300)).clamp_max(1.0)
            pull = torch.zeros(sites, dtype=y.dtype, device=y.device)
            pull.index_add_(0, site, weights * residual)
            update = factor.solve(sample.features.T @ (pull + sample.counts * fitted))
            moved = float((sample.features @ (update - theta)).abs().max())
            theta = update
            if moved <= self.tolerance * max(threshold, 1e-300):
                break
        outlying = weights < 0.5
        return Estimate(
            theta, factor, weights, None, threshold, int(outlying.sum()), bool(outlying[-1])
        )


def robust_scale(residual: Tensor, freedom: float) -> float:
    """1.4826 median |residual|, corrected for the freedom that the fit has taken."""
    correction = (len(residual) / freedom) ** 0.5
    scale = MAD_TO_SD * float(residual.abs().median()) * correction
    return max(scale, 1e-300)


def degrees_of_freedom(factor: RidgeFactor, sample: Sample) -> float:
    """What is left of t rewards after the fit: t - sum of leverages, and at least t / 4."""
    total = len(sample.rewards)
    taken = float((sample.counts * factor.leverage(sample.features)).sum())
    return max(total - taken, 0.25 * total)


def _winsorised_sums(sample: Sample) -> Tensor:
    """Site sums with rewards drawn in to 3 robust deviations of the median."""
    y = sample.rewards
    centre, reach = y.median(), 3.0 * robust_spread(y)
    drawn_in = y.clamp(centre - reach, centre + reach)
    sums = torch.zeros_like(sample.sums)
    return sums.index_add_(0, sample.site, drawn_in)

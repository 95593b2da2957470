"""Huber's estimator: rewards far from the fit pull with a bounded force."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.estimators.digest import WHOLE, Digest
from surefoot.estimators.estimator import Estimate, Measured, totals
from surefoot.estimators.log import Terms
from surefoot.estimators.spread import MAD_TO_SD, median, robust_spread
from surefoot.regression.ridge import RidgeFactor

_LEAST_SCALE = 1e-3  # of the spread of the rewards; residuals that are mostly 0 have no scale
_CAUTIOUS = 2  # passes that cannot overshoot, before Newton's
_NEWTON = 16  # passes after which, the scale going to and fro, it is cautious ones again
_SCALE_EVERY = 0.01  # share of many rewards that may be new before their scale is found again


@dataclass(frozen=True)
class Huber:
    """Ridge regression with weights min(1, k s / |residual|), s = 1.4826 median |residual|.

    Needs no bound on rewards or moments. `k` = 1.345 keeps 95 % of the efficiency of least
    squares under Gaussian noise (Huber 1964). The geometry stays that of x alone. With `growing`,
    the threshold at x is k s / h, h the root of the leverage there, which falls as x is pulled:
    skewed noise then biases the estimate less and less (adaptive Huber regression, Sun, Zhou and
    Fan 2020).
    """

    k: float = 1.345
    growing: bool = False
    passes: int = 100
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        checks.positive("k", self.k)
        checks.count("passes", self.passes)
        checks.positive("tolerance", self.tolerance)

    def log(self, terms: Terms) -> Digest:
        return Digest()

    def __call__(
        self, factor: RidgeFactor, sample: Measured, start: Tensor | None = None
    ) -> Estimate:
        log = sample.log if isinstance(sample.log, Digest) else None
        theta, residual, threshold = self._fit(factor, sample, log)
        weights = (threshold / residual.abs().clamp_min(1e-300)).clamp_max(1.0)
        outlying = weights < 0.5
        last = float(threshold[-1])
        if sample.mass is not None:
            truncated = round(float(sample.mass[outlying].sum()))
            return Estimate(theta, factor, None, None, last, truncated, bool(outlying[-1]))
        truncated = int(outlying.sum())
        return Estimate(theta, factor, weights, None, last, truncated, bool(outlying[-1]))

    def _fit(
        self, factor: RidgeFactor, sample: Measured, log: Digest | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Coefficients, residuals and thresholds of the rewards."""
        leverage = factor.leverage(sample.features)
        stretch = torch.ones_like(sample.rewards)
        if self.growing:
            stretch = leverage.rsqrt()[sample.site]
        known = None if log is None else _known_start(log, sample)
        if known is not None:
            scale = known[1]
            threshold = self.k * scale * stretch
            theta, residual = _newton(factor, sample, known[0], threshold)
        else:
            freedom = degrees_of_freedom(leverage, sample)
            least = _LEAST_SCALE * robust_spread(sample.rewards, sample.mass)
            theta, residual = _fitted(factor, sample, _winsorised_sums(sample))
        for number in range(self.passes):
            if known is None:
                scale = max(robust_scale(residual, sample, freedom), least)
                threshold = self.k * scale * stretch
            before = residual
            cautious = known is None and not _CAUTIOUS <= number < _NEWTON
            theta, residual = _improved(factor, sample, theta, before, threshold, cautious)
            if float((residual - before).abs().max()) <= self.tolerance * self.k * scale:
                break
        if log is not None:
            log.fitted = (sample.features @ theta).cpu().numpy()
            if known is None:
                log.scale, log.scaled_at = scale, log.number
        return theta, residual, threshold


def _known_start(log: Digest, sample: Measured) -> tuple[Tensor, float] | None:
    """Residuals of the last fit and its scale, while few of many rewards are new since."""
    due = log.number > (1.0 + _SCALE_EVERY) * log.scaled_at
    if log.fitted is None or log.number <= WHOLE or due:
        return None
    fitted = torch.full_like(sample.counts, float(log.fitted.mean()))
    fitted[: len(log.fitted)] = torch.from_numpy(log.fitted).to(fitted)
    return sample.rewards - fitted[sample.site], log.scale


def _improved(
    factor: RidgeFactor,
    sample: Measured,
    theta: Tensor,
    residual: Tensor,
    threshold: Tensor,
    cautious: bool,
) -> tuple[Tensor, Tensor]:
    """Coefficients and residuals of less loss: Newton's where that is so, else cautious ones."""
    if not cautious:
        before = _loss(factor, sample, theta, residual, threshold)
        update = _newton(factor, sample, residual, threshold)
        if _loss(factor, sample, *update, threshold) <= before * (1.0 + 1e-12):
            return update
    # Least squares of the pseudo-rewards mu + clipped residual never overshoots.
    clipped = residual.clamp(-threshold, threshold)
    return _fitted(factor, sample, totals(sample, sample.rewards - residual + clipped))


def _newton(
    factor: RidgeFactor, sample: Measured, residual: Tensor, threshold: Tensor
) -> tuple[Tensor, Tensor]:
    """The minimum if every residual stays on its side of the threshold."""
    inside = residual.abs() <= threshold
    pull = torch.where(inside, sample.rewards, threshold * residual.sign())
    counts = totals(sample, inside.to(residual.dtype))
    within = RidgeFactor.of(sample.features, factor.ridge, counts)
    return _fitted(within, sample, totals(sample, pull))


def _fitted(factor: RidgeFactor, sample: Measured, sums: Tensor) -> tuple[Tensor, Tensor]:
    """Least squares of site sums (S,), and the residuals of the rewards."""
    theta = factor.solve(sample.features.T @ sums)
    return theta, sample.rewards - (sample.features @ theta)[sample.site]


def _loss(
    factor: RidgeFactor,
    sample: Measured,
    theta: Tensor,
    residual: Tensor,
    threshold: Tensor,
) -> float:
    """What the estimate minimises: Huber's loss of the residuals and half the ridge penalty."""
    clipped = torch.minimum(residual.abs(), threshold)
    losses = clipped * (residual.abs() - 0.5 * clipped)
    total = losses.sum() if sample.mass is None else losses @ sample.mass
    return float(total + 0.5 * factor.ridge * theta.square().sum())


def robust_scale(residual: Tensor, sample: Measured, freedom: float) -> float:
    """1.4826 median |residual|, corrected for the freedom that the fit has taken."""
    correction = (float(sample.counts.sum()) / freedom) ** 0.5
    return max(MAD_TO_SD * float(median(residual.abs(), sample.mass)) * correction, 1e-300)


def degrees_of_freedom(leverage: Tensor, sample: Measured) -> float:
    """What is left of t rewards after the fit: t - sum of leverages, and at least t / 4."""
    total = float(sample.counts.sum())
    return max(total - float((sample.counts * leverage).sum()), 0.25 * total)


def _winsorised_sums(sample: Measured) -> Tensor:
    """Site sums with rewards drawn in to 3 robust deviations of the median."""
    centre = median(sample.rewards, sample.mass)
    reach = 3.0 * robust_spread(sample.rewards, sample.mass)
    return totals(sample, sample.rewards.clamp(centre - reach, centre + reach))

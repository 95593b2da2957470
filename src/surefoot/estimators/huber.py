"""Huber's estimator: rewards far from the fit pull with a bounded force."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot import _checks
from surefoot.estimators.digest import WHOLE, Digest
from surefoot.estimators.estimator import Estimate, Measured, totals
from surefoot.estimators.log import Terms
from surefoot.estimators.spread import MAD_TO_SD, median, robust_spread
from surefoot.ridge import RidgeFactor

_LEAST_SCALE = 1e-3  # of the spread of the rewards; residuals that are mostly 0 have no scale
_CAUTIOUS = 2  # passes that cannot overshoot before Newton's; and the last half, should they fail
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
    passes: int = 30
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        _checks.positive("k", self.k)
        _checks.count("passes", self.passes)
        _checks.positive("tolerance", self.tolerance)

    def log(self, terms: Terms) -> Digest:
        return Digest()

    def __call__(
        self, factor: RidgeFactor, sample: Measured, start: Tensor | None = None
    ) -> Estimate:
        log = sample.log if isinstance(sample.log, Digest) else None
        leverage = factor.leverage(sample.features)
        stretch = leverage.rsqrt()[sample.site] if self.growing else None
        known = None if log is None else _known_start(log, sample)
        if known is not None:
            residual, scale = known
        else:
            freedom = degrees_of_freedom(leverage, sample)
            least = _LEAST_SCALE * robust_spread(sample.rewards, sample.mass)
            theta = factor.solve(sample.features.T @ _winsorised_sums(sample))
            residual = sample.rewards - (sample.features @ theta)[sample.site]
        for number in range(self.passes):
            if known is None:
                scale = max(robust_scale(residual, sample, freedom), least)
            limit = self.k * scale
            threshold = limit if stretch is None else limit * stretch
            newton = (known is not None or number >= _CAUTIOUS) and number < self.passes // 2
            theta = (_newton if newton else _cautious)(factor, sample, residual, threshold)
            fitted = sample.features @ theta
            before, residual = residual, sample.rewards - fitted[sample.site]
            if float((residual - before).abs().max()) <= self.tolerance * limit:
                break
        if log is not None:
            log.fitted = fitted.cpu().numpy()
            if known is None:
                log.scale, log.scaled_at = scale, log.number
        weights = (threshold / residual.abs().clamp_min(1e-300)).clamp_max(1.0)
        outlying = weights < 0.5
        last = threshold if isinstance(threshold, float) else float(threshold[-1])
        if sample.mass is not None:
            truncated = round(float(sample.mass[outlying].sum()))
            return Estimate(theta, factor, None, None, last, truncated, bool(outlying[-1]))
        truncated = int(outlying.sum())
        return Estimate(theta, factor, weights, None, last, truncated, bool(outlying[-1]))


def _known_start(log: Digest, sample: Measured) -> tuple[Tensor, float] | None:
    """Residuals of the last fit and its scale, while few of many rewards are new since."""
    due = log.number > (1.0 + _SCALE_EVERY) * log.scaled_at
    if log.fitted is None or log.number <= WHOLE or due:
        return None
    fitted = torch.full_like(sample.counts, float(log.fitted.mean()))
    fitted[: len(log.fitted)] = torch.from_numpy(log.fitted).to(fitted)
    return sample.rewards - fitted[sample.site], log.scale


def _cautious(
    factor: RidgeFactor, sample: Measured, residual: Tensor, threshold: Tensor | float
) -> Tensor:
    """Least squares of the pseudo-rewards mu + clipped residual, which never overshoots."""
    clipped = residual.sign() * residual.abs().clamp_max(threshold)
    return factor.solve(sample.features.T @ totals(sample, sample.rewards - residual + clipped))


def _newton(
    factor: RidgeFactor, sample: Measured, residual: Tensor, threshold: Tensor | float
) -> Tensor:
    """The minimum if every residual stays on its side of the threshold."""
    inside = residual.abs() <= threshold
    pull = torch.where(inside, sample.rewards, threshold * residual.sign())
    counts = totals(sample, inside.to(residual.dtype))
    within = RidgeFactor.of(sample.features, factor.ridge, counts)
    return within.solve(sample.features.T @ totals(sample, pull))


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

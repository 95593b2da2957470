"""Huber's estimator: rewards far from the fit have bounded influence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.numbers import LAST_DIGITS, NEW_SHARE, TINY
from surefoot._internal.tensors import NO_VALUES
from surefoot.estimators.digest import (
    ALL_KEPT,
    Digest,
    WeightedValues,
    degrees_of_freedom,
    robust_scale,
)
from surefoot.estimators.estimator import Constants
from surefoot.regression.regression import Estimate
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.sample import Sample
from surefoot.regression.spread import median, robust_spread

_LEAST_SCALE = 1e-3  # of the spread of the rewards; residuals that are mostly 0 have no scale
_CAUTIOUS = 2  # passes that cannot overshoot, before Newton's
_NEWTON = 16  # passes after which, the scale going to and fro, it is cautious ones again
_SCALINGS, _SCALED = 20, 1e-3  # most passes for the output scale, and its relative tolerance
_FAR = 1e10  # robust deviations, beyond which rounding of the loss would hide the other rewards


@dataclass(frozen=True, eq=False)
class HuberState:
    """The rewards, and where the last fit ended.

    Args:
        digest: The rewards.
        fitted: Values of the last fit at the sites (S,) or fewer; empty before it.
        scale: Scale of the residuals when it was last estimated.
        scaled_at: Number of rewards then.
    """

    digest: Digest = field(default_factory=Digest)
    fitted: Tensor = NO_VALUES
    scale: float = 0.0
    scaled_at: int = 0

    @property
    def starts_warm(self) -> bool:
        """Whether few of many rewards are new since the scale was estimated."""
        number = self.digest.number
        due = number > (1.0 + NEW_SHARE) * self.scaled_at
        return len(self.fitted) > 0 and number > ALL_KEPT and not due


@dataclass(frozen=True)
class Huber:
    """Ridge regression with weights min(1, k s / |residual|).

    s = 1.4826 median |residual| √(t / f), of t rewards and f residual degrees of freedom, at least
    t / 4; the median is the lower one.

    It needs no bound on rewards or moments. Weights enter the coefficients only: V and the
    posterior variance depend on the points alone, unless rewards have standard errors. Then
    residuals and features are multiplied by the root of noise / (noise + sem^2), where the noise
    variance is the ridge in the units of the prior.

    Beyond 1,024 rewards, s is estimated again once 1 % of them are new: one by one, they end with
    the s of up to 1 % fewer rewards than told at once.

    Args:
        k: Threshold in robust standard deviations; 1.345 keeps 95 % of the efficiency of least
            squares under Gaussian noise.
        growing: Whether the threshold at x is k s / h, h the root of the leverage there, which
            falls as x is pulled: skewed noise then biases the estimate less and less.
        passes: Largest number of iterations.
        tolerance: Change of residuals, relative to the threshold, at which iterations end.

    Raises:
        InvalidInput: If a number is not positive, or `growing` not a boolean.

    References:
        Huber 1964; Sun, Zhou and Fan 2020, "Adaptive Huber regression".

    Example:
        >>> import surefoot as sf
        >>> kernel = sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.Optimizer(sf.Box([0.0], [1.0]), sf.Method(kernel, estimator=sf.Huber()))
        >>> info = optimizer.tell_all([[0.1], [0.2], [0.2], [0.2]], [1.0, 1.1, 0.9, 50.0])
        >>> info.truncated_total
        1
    """

    k: float = 1.345
    growing: bool = False
    passes: int = 100
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        checks.positive("k", self.k)
        checks.truth("growing", self.growing)
        checks.count("passes", self.passes)
        checks.positive("tolerance", self.tolerance)

    def init(self, constants: Constants) -> HuberState:
        """The state before the first reward."""
        return HuberState()

    def update(self, state: HuberState, site: int, reward: float) -> HuberState:
        """The state after one more reward at a site."""
        state.digest.append(site, reward)
        return state

    def update_with_error(
        self, state: HuberState, site: int, reward: float, sem: float
    ) -> HuberState:
        """The state after one more reward with a standard error."""
        state.digest.append(site, reward, sem)
        return state

    def estimate(self, state: HuberState, sample: Sample) -> tuple[Estimate, HuberState]:
        """The estimate from all rewards, and the next state."""
        values = _within_reach(state.digest.weighted(sample))
        empirical = sample.units.empirical and not self.growing
        if empirical and values.has_errors:
            values = self._with_output_scale(values, state)
        theta, residual, threshold, scale = self._fit(values, state)
        fitted = (sample.features @ theta).cpu()
        scaled_at = state.scaled_at if state.starts_warm else state.digest.number
        after = replace(state, fitted=fitted, scale=scale, scaled_at=scaled_at)
        outlying = residual.abs() > 2.0 * threshold  # of less than half their weight
        truncated, last = round(float(values.mass[outlying].sum())), bool(outlying[-1])
        prior_mean, prior_scale = 0.0, 1.0
        if empirical:
            prior_mean, prior_scale, theta = empirical_bayes_prior(values, theta)
        limit, counts = float(threshold[-1]), values.counts if values.has_errors else NO_VALUES
        return Estimate(theta, counts, limit, truncated, last, prior_mean, prior_scale), after

    def weights(self, estimate: Estimate, sample: Sample) -> Tensor:
        """min(1, threshold / |residual|) of each reward (t,), apart from its standard error."""
        product = sample.features @ estimate.coefficients
        mean = estimate.prior_mean + estimate.prior_scale * product
        stretch = self._stretch(sample.factor_of(estimate.counts), sample)[sample.site]
        threshold = estimate.threshold * stretch / stretch[-1]
        noise = estimate.prior_scale**2 * sample.factor.ridge
        root = (1.0 + sample.error_variances / noise).rsqrt()
        residual = root * (sample.rewards - mean[sample.site])
        return (threshold / residual.abs().clamp_min(TINY)).clamp_max(1.0)

    def _with_output_scale(self, values: WeightedValues, state: HuberState) -> WeightedValues:
        """The values with the output scale that their noise is a multiple of, a fixed point."""
        for _ in range(_SCALINGS):
            before = values.output_scale
            scale = empirical_bayes_prior(values, self._fit(values, state)[0]).scale
            values = replace(values, output_scale=scale)
            if abs(scale - before) <= _SCALED * before:
                break
        return values

    def _stretch(self, factor: RidgeFactor, sample: Sample) -> Tensor:
        """Multiples (S,) of the threshold at the sites."""
        if self.growing:
            return factor.leverages(sample.features).rsqrt()
        return torch.ones_like(sample.residual)

    def _fit(
        self, values: WeightedValues, state: HuberState
    ) -> tuple[Tensor, Tensor, Tensor, float]:
        """Coefficients, residuals, thresholds of the values, and the scale of the residuals."""
        sample = values.sample
        stretch, scale = self._stretch(values.factor, sample)[values.site], state.scale
        freedom = least = 0.0
        if state.starts_warm:
            known = torch.full_like(sample.counts, float(state.fitted.mean()))
            known[: len(state.fitted)] = state.fitted.to(known)
            start = values.root * (values.value - known[values.site])
            theta, residual = _newton(values, start, self.k * scale * stretch)
        else:
            freedom = degrees_of_freedom(values.factor.leverages(sample.features), values)
            least = _LEAST_SCALE * robust_spread(values.value, values.mass)
            theta, residual = values.fitted(values.factor, _winsorized_sums(values))
        threshold = self.k * scale * stretch
        for number in range(self.passes):
            if not state.starts_warm:
                scale = max(robust_scale(residual, values, freedom), least)
                threshold = self.k * scale * stretch
            before = residual
            cautious = not state.starts_warm and not _CAUTIOUS <= number < _NEWTON
            theta, residual = _improved(values, theta, before, threshold, cautious)
            if float((residual - before).abs().max()) <= self.tolerance * self.k * scale:
                break
        return theta, residual, threshold, scale


def _within_reach(values: WeightedValues) -> WeightedValues:
    """The values, those far out drawn in to where their influence is as bounded as before."""
    center = median(values.value, values.mass)
    reach = _FAR * robust_spread(values.value, values.mass)
    return replace(values, value=values.value.clamp(center - reach, center + reach))


def _improved(
    values: WeightedValues, theta: Tensor, residual: Tensor, threshold: Tensor, cautious: bool
) -> tuple[Tensor, Tensor]:
    """Coefficients and residuals of less loss: Newton's where that is so, else cautious ones."""
    if not cautious:
        before = _loss(values, theta, residual, threshold)
        update = _newton(values, residual, threshold)
        if _loss(values, *update, threshold) <= before * (1.0 + LAST_DIGITS):
            return update
    # Least squares of the pseudo-rewards mu + clipped residual never overshoots.
    pseudo = values.root * values.value - residual + residual.clamp(-threshold, threshold)
    return values.fitted(values.factor, values.totals(values.root * pseudo))


def _newton(values: WeightedValues, residual: Tensor, threshold: Tensor) -> tuple[Tensor, Tensor]:
    """The minimum if every residual stays on its side of the threshold."""
    inside = residual.abs() <= threshold
    pull = torch.where(inside, values.root * values.value, threshold * residual.sign())
    counts = values.totals(values.root.square() * inside)
    return values.fitted(values.sample.factor_of(counts), values.totals(values.root * pull))


def _loss(values: WeightedValues, theta: Tensor, residual: Tensor, threshold: Tensor) -> float:
    """Objective of the estimate: Huber's loss of the residuals and half the ridge penalty."""
    clipped = torch.minimum(residual.abs(), threshold)
    losses = clipped * (residual.abs() - 0.5 * clipped)
    return float(losses @ values.mass + 0.5 * values.sample.factor.ridge * theta.square().sum())


def _winsorized_sums(values: WeightedValues) -> Tensor:
    """Site sums with rewards drawn in to 3 robust deviations of the median."""
    center = median(values.value, values.mass)
    reach = 3.0 * robust_spread(values.value, values.mass)
    return values.totals(values.root.square() * values.value.clamp(center - reach, center + reach))


_CLIP = 1.345  # robust deviations at which residuals are clipped, as in Huber's estimate
_PRIOR_STRENGTH = 4.0  # pseudo-observations in favour of a squared output scale of 1


class Prior(NamedTuple):
    """Prior mean and output scale, with the estimate under them.

    Args:
        mean: Prior mean, in the units of the rewards.
        scale: Output scale, the factor of the prior standard deviation.
        coefficients: Coefficients (m,) of the function less its prior mean, over the scale.
    """

    mean: float
    scale: float
    coefficients: Tensor


def empirical_bayes_prior(values: WeightedValues, coefficients: Tensor) -> Prior:
    """Robust maximum marginal likelihood of the prior mean and output scale.

    The median and deviation of the rewards are no substitute: a search that has converged
    measures near the optimum, where the rewards vary like the noise. The generalised
    least-squares mean is 1'(K + ridge)^-1 y / 1'(K + ridge)^-1 1, where (K + ridge)^-1 y are the
    residuals over ridge; the squared output scale is y'(K + ridge)^-1 y / t, which equals
    (|residuals|^2 / ridge + |coefficients|^2) / t. For robustness residuals are clipped in the
    former and replaced by their robust scale in the latter.

    Args:
        values: The rewards.
        coefficients: Huber's estimate (m,) for prior mean 0 and output scale 1.

    Returns:
        The prior and the coefficients under it.
    """
    sample, number = values.sample, values.number
    factor = values.factor
    leverage = factor.leverages(sample.features)
    residual = values.root * (values.value - (sample.features @ coefficients)[values.site])
    noise = robust_scale(residual, values, degrees_of_freedom(leverage, values))

    clipped = residual.clamp(-_CLIP * noise, _CLIP * noise)
    ones = sample.moments(values.counts)
    constant = factor.solve(ones)  # ridge fit of the constant 1
    unexplained = max(float(values.counts.sum()) - float(ones @ constant), 0.0)
    # The mean has itself a prior of unit variance.
    mean = float(clipped @ (values.root * values.mass)) / (unexplained + factor.ridge)
    coefficients = coefficients - mean * constant

    free = number - float((values.counts * leverage).sum())
    power = free * noise**2 / factor.ridge + float(coefficients.square().sum())
    scale = ((_PRIOR_STRENGTH + power) / (_PRIOR_STRENGTH + number)) ** 0.5
    return Prior(mean, scale, coefficients / scale)

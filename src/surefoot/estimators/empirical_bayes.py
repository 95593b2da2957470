"""Empirical-Bayes prior mean and output scale, for a given kernel and ridge."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from surefoot.estimators.digest import WeightedValues
from surefoot.estimators.scale import degrees_of_freedom, robust_scale

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

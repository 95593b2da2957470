"""Empirical-Bayes mean and scale of the prior, where only a kernel and a ridge are given."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from surefoot.estimators.digest import WeightedValues
from surefoot.estimators.scale import degrees_of_freedom, robust_scale

_CLIPPED = 1.345  # robust deviations beyond which a residual counts no more, as in Huber's estimate
_EXPECTED = 4.0  # rewards' worth of belief that the prior is as wide as rewards spread


class Prior(NamedTuple):
    """Mean and scale of the prior, in the units of the rewards, and what follows."""

    mean: float
    scale: float
    coefficients: Tensor  # (m,), of the function less that mean, in multiples of the scale


def empirical_bayes_prior(values: WeightedValues, coefficients: Tensor) -> Prior:
    """The prior mean and scale of largest likelihood, given Huber's estimate for mean 0, scale 1.

    The median of rewards and their deviation will not do: a search that has converged measures
    near the optimum, where rewards spread like the noise. By generalized least squares the mean is
    1'(K + ridge)^-1 y / 1'(K + ridge)^-1 1, where (K + ridge)^-1 y are the residuals over ridge;
    and the squared scale is y'(K + ridge)^-1 y / t, or (|residuals|^2 / ridge +
    |coefficients|^2) / t. Residuals are clipped for the one, and go by their robust scale in the
    other.

    Args:
        values: The rewards.
        coefficients: Huber's estimate (m,).

    Returns:
        The prior and the coefficients under it.
    """
    sample, number = values.sample, values.number
    factor = sample.factor
    leverage = factor.leverage(sample.features)
    residual = values.value - (sample.features @ coefficients)[values.site]
    noise = robust_scale(residual, values, degrees_of_freedom(leverage, values))

    clipped = residual.clamp(-_CLIPPED * noise, _CLIPPED * noise)
    ones = sample.features.T @ sample.counts
    constant = factor.solve(ones)  # the fit of the function that is 1 everywhere
    unexplained = max(number - float(ones @ constant), 0.0)
    # Of a prior of its own, as wide as the function's.
    mean = float(clipped @ values.mass) / (unexplained + factor.ridge)
    coefficients = coefficients - mean * constant

    free = number - float((sample.counts * leverage).sum())
    power = free * noise**2 / factor.ridge + float(coefficients.square().sum())
    scale = ((_EXPECTED + power) / (_EXPECTED + number)) ** 0.5
    return Prior(mean, scale, coefficients / scale)

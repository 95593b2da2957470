"""Where the prior has its mean, and how wide it is, where only a kernel and a ridge are given."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from surefoot.estimators import Measured
from surefoot.estimators.huber import degrees_of_freedom, robust_scale
from surefoot.regression.ridge import RidgeFactor

_CLIPPED = 1.345  # robust deviations beyond which a residual counts no more, as in Huber's estimate
_EXPECTED = 4.0  # rewards' worth of belief that the prior is as wide as rewards spread


class Prior(NamedTuple):
    """The mean of the prior and its width, in the units of the rewards, and what follows."""

    mean: float
    width: float
    coefficients: Tensor  # (m,), of the function less that mean


def likeliest_prior(factor: RidgeFactor, sample: Measured, coefficients: Tensor) -> Prior:
    """The prior under which the rewards are likeliest, given Huber's estimate for mean 0, width 1.

    The median of rewards and their deviation will not do: a search that has homed in measures near
    the optimum, where rewards spread like the noise. By generalised least squares the mean is
    1'(K + ridge)^-1 y / 1'(K + ridge)^-1 1, where (K + ridge)^-1 y are the residuals over ridge;
    and the squared width is y'(K + ridge)^-1 y / t, or (|residuals|^2 / ridge +
    |coefficients|^2) / t. Residuals are clipped for the one, and go by their robust scale in the
    other.
    """
    number = float(sample.counts.sum())
    leverage = factor.leverage(sample.features)
    residual = sample.rewards - (sample.features @ coefficients)[sample.site]
    noise = robust_scale(residual, sample, degrees_of_freedom(leverage, sample))

    clipped = residual.clamp(-_CLIPPED * noise, _CLIPPED * noise)
    total = float(clipped.sum() if sample.mass is None else clipped @ sample.mass)
    ones = sample.features.T @ sample.counts
    constant = factor.solve(ones)  # the fit of the function that is 1 everywhere
    unexplained = max(number - float(ones @ constant), 0.0)
    mean = total / (unexplained + factor.ridge)  # of a prior of its own, as wide as the function's
    coefficients = coefficients - mean * constant

    free = number - float((sample.counts * leverage).sum())
    power = free * noise**2 / factor.ridge + float(coefficients.square().sum())
    width = ((_EXPECTED + power) / (_EXPECTED + number)) ** 0.5
    return Prior(mean, width, coefficients)

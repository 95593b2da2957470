"""How far the function reaches, where only a kernel and the noise beside it are given."""

from __future__ import annotations

from torch import Tensor

from surefoot.estimators import Measured
from surefoot.estimators.huber import degrees_of_freedom, robust_scale
from surefoot.ridge import RidgeFactor

_EXPECTED = 4.0  # rewards' worth of belief that the scale is that of the rewards


def reward_scale(factor: RidgeFactor, sample: Measured, coefficients: Tensor) -> float:
    """How many times wider than rewards spread the prior is, at least 1.

    The median deviation of the rewards of a search that has homed in is that of the noise, and a
    prior as narrow as this would find nothing else worth a look. So the scale is the one at which
    kernel and ridge make the rewards likeliest, if that is larger: the square of it is
    (|residuals|^2 / ridge + |coefficients|^2) / t, the residuals by their robust scale.
    """
    leverage = factor.leverage(sample.features)
    total = float(sample.counts.sum())
    taken = float((sample.counts * leverage).sum())
    residual = sample.rewards - (sample.features @ coefficients)[sample.site]
    noise = robust_scale(residual, sample, degrees_of_freedom(leverage, sample))
    power = (total - taken) * noise**2 / factor.ridge + float(coefficients.square().sum())
    return max(1.0, ((_EXPECTED + power) / (_EXPECTED + total)) ** 0.5)

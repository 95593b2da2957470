"""Probability that a measurement succeeds, from the failures and successes nearby."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from surefoot import kernels
from surefoot.acquisition.context import Score

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_DOUBT = 0.02  # probability of success of a point whose only neighbour failed
_SPOT = 64  # power of the correlation that is 0 but at the failed point itself
_REACH = 4  # power of the correlation: weights reach half a lengthscale


def feasibility(kernel: Kernel, succeeded: Tensor, failed: Tensor) -> Score:
    """Probability that measuring at a point succeeds (Nadaraya-Watson).

    A kernel-weighted share of successes with a prior that favours success, so that one failure
    lowers its neighbourhood and several exclude a region. The point of a failure is not tried
    again, however many successes surround it.

    Args:
        kernel: Kernel whose correlation weighs the sites.
        succeeded: Points (s, d) that were measured.
        failed: Points (f, d) where measuring failed.

    Returns:
        A function of points (n, d) -> (n,), differentiable.
    """

    def chance(points: Tensor) -> Tensor:
        against = _correlation(kernel, points, failed)
        in_favour = _correlation(kernel, points, succeeded).pow(_REACH).sum(-1)
        voted = (in_favour + _DOUBT) / (in_favour + against.pow(_REACH).sum(-1) + _DOUBT)
        return voted * (1.0 - (1.0 - _DOUBT) * against.amax(-1).pow(_SPOT))

    return chance


def _correlation(kernel: Kernel, points: Tensor, sites: Tensor) -> Tensor:  # (n, s)
    norms = kernels.diagonal(kernel, points)[:, None] * kernels.diagonal(kernel, sites)
    return (kernels.block(kernel, points, sites) / norms.clamp_min(1e-300).sqrt()).clamp(0.0, 1.0)

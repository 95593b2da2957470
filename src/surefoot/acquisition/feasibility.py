"""Where measurements fail: a running vote of the failures and successes nearby."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from surefoot import kernels
from surefoot.acquisition.policy import Score

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_DOUBT = 0.02  # chance of success left to a point whose only neighbour failed
_SPOT = 64  # power that leaves only the spot itself
_REACH = 4  # power of the correlation: a vote carries half a lengthscale


def feasibility(kernel: Kernel, succeeded: Tensor, failed: Tensor) -> Score:
    """Chance (n,) that measuring at points (n, d) works, given sites that did and did not.

    A kernel-weighted vote (Nadaraya-Watson) in which success has the benefit of the doubt far from
    every failure, so that one failure pushes the search away and many close a region. However
    many successes are around, the very spot of a failure is not tried again.
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

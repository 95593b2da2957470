"""Where measurements fail: a running vote of the failures and successes nearby."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from surefoot import kernels
from surefoot.policies.policy import Score

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_DOUBT = 0.02  # chance of success left to a point whose only neighbour failed
_REACH = 4  # power of the correlation: a vote carries half a lengthscale


def feasibility(kernel: Kernel, succeeded: Tensor, failed: Tensor) -> Score:
    """Chance (n,) that measuring at points (n, d) works, given sites that did and did not.

    A kernel-weighted vote (Nadaraya-Watson) in which success has the benefit of the doubt far from
    every failure, so that one failure pushes the search away and many close a region.
    """

    def chance(points: Tensor) -> Tensor:
        against = _votes(kernel, points, failed)
        in_favour = _votes(kernel, points, succeeded)
        return (in_favour + _DOUBT) / (in_favour + against + _DOUBT)

    return chance


def _votes(kernel: Kernel, points: Tensor, sites: Tensor) -> Tensor:
    if len(sites) == 0:
        return points.new_zeros(len(points))
    norms = kernels.diagonal(kernel, points)[:, None] * kernels.diagonal(kernel, sites)
    correlation = kernels.block(kernel, points, sites) / norms.clamp_min(1e-300).sqrt()
    return correlation.clamp(0.0, 1.0).pow(_REACH).sum(-1)

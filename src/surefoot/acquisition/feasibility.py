"""Probability that a measurement succeeds, from the failures and successes nearby."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from surefoot import kernels

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_DOUBT = 0.02  # probability of success of a point whose only neighbour failed
_SPOT = 64  # power of the correlation that is 0 but at the failed point itself
_REACH = 4  # power of the correlation: weights reach half a lengthscale


class Votes(NamedTuple):
    """What successes and failures say of some points."""

    points: Tensor  # (n, d)
    in_favour: Tensor  # (n,)
    against: Tensor  # (n, f)


@dataclass(eq=False)
class Feasibility:
    """Probability that measuring at a point succeeds (Nadaraya-Watson).

    A kernel-weighted share of successes with a prior that favours success, so that one failure
    lowers its neighbourhood and several exclude a region. The point of a failure is not tried
    again, however many successes surround it. Values at one set of points are kept for the next
    round: those of many arms take longer than the rest of it.

    Args:
        kernel: Kernel whose correlation weighs the sites.
        succeeded: Points (s, d) that were measured.
        failed: Points (f, d) where measuring failed.
    """

    kernel: Kernel
    succeeded: Tensor
    failed: Tensor
    _votes: Votes | None = None

    def __call__(self, points: Tensor) -> Tensor:  # (n, d) -> (n,)
        """The probabilities, differentiable in the points."""
        votes = self._votes
        if votes is None or points is not votes.points:
            in_favour = _correlation(self.kernel, points, self.succeeded).pow(_REACH).sum(-1)
            votes = Votes(points, in_favour, _correlation(self.kernel, points, self.failed))
            if not points.requires_grad:
                self._votes = votes
        voted = (votes.in_favour + _DOUBT) / (
            votes.in_favour + votes.against.pow(_REACH).sum(-1) + _DOUBT
        )
        return voted * (1.0 - (1.0 - _DOUBT) * votes.against.amax(-1).pow(_SPOT))

    def renewed(self, kernel: Kernel, succeeded: Tensor, failed: Tensor) -> Feasibility:
        """That of other points, or this one where they are as many.

        Not from the sums so far: their rounding would depend on when somebody looked.
        """
        same = kernel is self.kernel and len(succeeded) == len(self.succeeded)
        if same and len(failed) == len(self.failed):
            return self
        return Feasibility(kernel, succeeded, failed)


def _correlation(kernel: Kernel, points: Tensor, sites: Tensor) -> Tensor:  # (n, s)
    rows = kernels.diagonal(kernel, points).clamp_min(1e-300).sqrt()
    columns = kernels.diagonal(kernel, sites).clamp_min(1e-300).sqrt()
    return (kernels.block(kernel, points, sites) / (rows[:, None] * columns)).clamp(0.0, 1.0)

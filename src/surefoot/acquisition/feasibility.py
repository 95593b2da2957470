"""Probability that a measurement succeeds, from the failures and successes nearby."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from surefoot import kernels

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_DOUBT = 0.02  # probability of success of a point whose only neighbour failed
_SPOT = 64  # power of the correlation that is 0 but at the failed point itself
_REACH = 4  # power of the correlation: weights reach half a lengthscale


class Votes(NamedTuple):
    """What successes and failures say of some points."""

    in_favour: Tensor  # (n,), of the successes nearby
    against: Tensor  # (n,), of the failures nearby
    nearest: Tensor  # (n,), correlation with the nearest failure

    @property
    def chance(self) -> Tensor:
        """Probability (n,) of success."""
        voted = (self.in_favour + _DOUBT) / (self.in_favour + self.against + _DOUBT)
        return voted * (1.0 - (1.0 - _DOUBT) * self.nearest.pow(_SPOT))


class Feasibility:
    """Probability that measuring at a point succeeds (Nadaraya-Watson).

    A kernel-weighted share of successes with a prior that favours success, so that one failure
    lowers its neighbourhood and several exclude a region. The point of a failure is not tried
    again, however many successes surround it.

    Args:
        kernel: Kernel whose correlation weighs the sites.
        arms: Points (n, d) whose probability is asked for in every round, empty in a box: it is
            kept, and updated site by site, so that its rounding does not depend on when it is
            asked for.
    """

    def __init__(self, kernel: Kernel, arms: Tensor) -> None:
        self._kernel = kernel
        self._arms = arms
        self._succeeded = self._failed = arms[:0]
        self._votes = Votes(*arms.new_zeros(3, len(arms)))
        self._chance = self._votes.chance

    def __call__(self, points: Tensor) -> Tensor:  # (n, d) -> (n,)
        """The probabilities, differentiable in the points."""
        if points is self._arms:
            return self._chance
        near = _correlation(self._kernel, points, self._failed)
        return Votes(
            _correlation(self._kernel, points, self._succeeded).pow(_REACH).sum(-1),
            near.pow(_REACH).sum(-1),
            near.amax(-1),
        ).chance

    def updated(self, kernel: Kernel, succeeded: Tensor, failed: Tensor) -> Feasibility:
        """That of the sites (s, d) measured and (f, d) failed so far, under a kernel."""
        if kernel is not self._kernel or not (
            _begins(succeeded, self._succeeded) and _begins(failed, self._failed)
        ):
            return Feasibility(kernel, self._arms).updated(kernel, succeeded, failed)
        in_favour, against, nearest = self._votes
        more, worse = succeeded[len(self._succeeded) :], failed[len(self._failed) :]
        if len(self._arms) and len(more) + len(worse):
            for site in more:
                in_favour = in_favour + self._of_arms(site).pow(_REACH)
            for site in worse:
                near = self._of_arms(site)
                against, nearest = against + near.pow(_REACH), torch.maximum(nearest, near)
            self._votes = Votes(in_favour, against, nearest)
            self._chance = self._votes.chance
        self._succeeded, self._failed = succeeded, failed
        return self

    def _of_arms(self, site: Tensor) -> Tensor:
        return _correlation(self._kernel, self._arms, site.unsqueeze(0))[:, 0]


def _begins(sites: Tensor, former: Tensor) -> bool:
    return len(former) == 0 or torch.equal(sites[: len(former)], former)


def _correlation(kernel: Kernel, points: Tensor, sites: Tensor) -> Tensor:  # (n, s)
    rows = kernels.diagonal(kernel, points).clamp_min(1e-300).sqrt()
    columns = kernels.diagonal(kernel, sites).clamp_min(1e-300).sqrt()
    return (kernels.block(kernel, points, sites) / (rows[:, None] * columns)).clamp(0.0, 1.0)

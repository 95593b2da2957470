"""Probability that a measurement succeeds, from the failures and successes nearby."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from surefoot._internal.numbers import LAST_DIGITS, TINY
from surefoot.kernels import correlation

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_PRIOR_RATE = 0.02  # share of successes at a point whose only neighbour failed
_ADVANCE = 1.0  # successes in the rate at points without neighbours, before there are any
_SPOT = 64  # power of the correlation that is 0 but near a failed point
_REACHES = (4, 16, 64, 256)  # half of the reach each, of which one is chosen
_GAIN = 1.0  # nats, by which another one predicts the measurements better than the first
_TOLERANCE = 0.85  # share of successes, from which a point is as good as any
_COMPARED = 128  # successes, and failures, from which shares are estimated
_GRID = 2.0**32  # weights of arms are multiples of its inverse: sums do not depend on their order


class LocalOutcomes(NamedTuple):
    """Kernel-weighted successes and failures near some points."""

    in_favour: Tensor  # (n,), of the successes nearby
    against: Tensor  # (n,), of the failures nearby
    success: Tensor  # (n,), correlation with the nearest success
    failure: Tensor  # (n,), correlation with the nearest failure

    def success_rate(self, elsewhere: float) -> Tensor:
        """Kernel-weighted rate (n,) of successes nearby; without any, that of points elsewhere."""
        before = _PRIOR_RATE * elsewhere
        return (self.in_favour + before) / (self.in_favour + self.against + _PRIOR_RATE)

    @property
    def novelty(self) -> Tensor:
        """Share (n,) of the rate elsewhere in the rate at each point: 1 where nothing is near."""
        return _PRIOR_RATE / (self.in_favour + self.against + _PRIOR_RATE)

    def without(self, successes: Tensor | float = 0.0, failures: float = 0.0) -> LocalOutcomes:
        """The outcomes but for some at the points themselves."""
        return self._replace(
            in_favour=(self.in_favour - successes).clamp_min(0.0),
            against=(self.against - failures).clamp_min(0.0),
        )

    @property
    def failure_penalty(self) -> Tensor:
        """1 at a point that has only failed, 0 away from it or closer to a success (n,)."""
        failure, success = self._squared_distances
        closer = (1.0 - failure / (success + LAST_DIGITS)).clamp_min(0.0)
        return torch.where(success > LAST_DIGITS, closer, 0.0) * self.failure.pow(_SPOT)

    @property
    def beyond_edge(self) -> Tensor:
        """Probability (n,) of an edge that is as likely to be anywhere on the way to a failure.

        That is the share of the way from the nearest success to the nearest failure nearby.
        """
        failure, success = (one.clamp_min(LAST_DIGITS).sqrt() for one in self._squared_distances)
        share = torch.where(success > LAST_DIGITS**0.5, success / (success + failure), 0.0)
        return share * self.failure.pow(_REACHES[0])

    @property
    def _squared_distances(self) -> tuple[Tensor, Tensor]:
        """Of the nearest failure and success (n,), in units of the kernel."""
        failure, success = (-one.clamp_min(TINY).log() for one in (self.failure, self.success))
        return failure, success

    def probability(self, elsewhere: float, penalty: Tensor, typical: float = 1.0) -> Tensor:
        """Probability (n,) of success, 1 where the rate is at least `_TOLERANCE` * `typical`."""
        relative = (self.success_rate(elsewhere) / (_TOLERANCE * typical)).clamp_max(1.0)
        return relative * (1.0 - (1.0 - _PRIOR_RATE) * penalty)


class Feasibility:
    """Probability that measuring at a point succeeds (Nadaraya-Watson).

    A kernel-weighted share of successes, so that one failure lowers its neighbourhood and several
    exclude a region; up to 15 % of failures among the successes nearby, which may have happened by
    chance, exclude nothing. The point of a failure is not tried again; how far that reaches is
    limited by the nearest success. Where nothing was measured nearby the rate is that of the
    measurements that had no neighbours, beside one success in advance: where the feasible region is
    a small part of many dimensions, each failure far from the others tells of all that is unknown.
    How far weights reach, at most half a lengthscale, follows from how well successes and failures
    predict one another, left out in turn: where a function is smooth the edge of a region is not. A
    failure among successes may be one by chance there too, and makes nothing short.

    Args:
        kernels: Kernels whose least correlation weighs the sites: of what one objective does not
            depend on, another may.
        arms: Points (n, d) whose probability is asked for in every round, empty in a box: it is
            kept, and updated site by site, so that its rounding does not depend on when it is
            asked for.
    """

    def __init__(self, kernels: Sequence[Kernel], arms: Tensor) -> None:
        self._kernels = tuple(kernels)
        self._arms = arms
        self._succeeded = self._failed = arms[:0]
        self._counts = arms.new_zeros(0)
        self._outcomes = (LocalOutcomes(*arms.new_zeros(4, len(arms))),) * len(_REACHES)
        self._reach, self._elsewhere, self._typical = _REACHES[0], 1.0, 1.0

    def __call__(self, points: Tensor) -> Tensor:  # (n, d) -> (n,)
        """The probabilities by which to search, differentiable in the points."""
        outcomes = self._outcomes_of(points)
        penalty = torch.where(outcomes.failure > 1.0 - LAST_DIGITS, 1.0, outcomes.failure_penalty)
        return outcomes.probability(self._elsewhere, penalty)

    def of_recommendation(self, points: Tensor) -> Tensor:  # (n, d) -> (n,)
        """The probabilities by which to recommend, differentiable in the points.

        Relative to the success rate at the successes themselves, since failures by chance may be
        frequent. A point that has succeeded may be recommended though it has failed, too; one that
        has not been measured may be beyond the edge of what succeeds.
        """
        outcomes = self._outcomes_of(points)
        return outcomes.probability(self._elsewhere, outcomes.beyond_edge, self._typical)

    def of_measured(self, points: Tensor) -> Tensor:  # (n, d) -> (n,)
        """The probabilities by which to recommend designs that were measured, differentiable.

        Under an environment a design is measured at few of the values that its risk is made of: at
        the others nothing is known but the rate nearby.
        """
        outcomes = self._outcomes_of(points)
        none = torch.zeros_like(outcomes.success)
        return outcomes.probability(self._elsewhere, none, self._typical)

    def updated(
        self,
        kernels: Sequence[Kernel],
        succeeded: Tensor,
        counts: Tensor,
        failed: Tensor,
        unexplained: Tensor,
    ) -> Feasibility:
        """The model of all measurements so far, under some kernels.

        Args:
            kernels: The kernels.
            succeeded: Distinct sites (s, d) with successes.
            counts: How many successes each of them has (s,).
            failed: Sites (f, d) of the failures.
            unexplained: Probability (f,) that a failure has no cause that other points do not
                share.
        """
        more = counts.clone()
        more[: len(self._counts)] -= self._counts[: len(counts)]
        same = [*map(id, kernels)] == [*map(id, self._kernels)]
        if not same or not (
            _begins(succeeded, self._succeeded)
            and _begins(failed, self._failed)
            and bool((more >= 0.0).all())
        ):
            anew = Feasibility(kernels, self._arms)
            return anew.updated(kernels, succeeded, counts, failed, unexplained)
        worse = failed[len(self._failed) :]
        if not len(worse) and not bool(more.any()):
            return self
        after = copy.copy(self)
        after._succeeded, after._counts, after._failed = succeeded, counts.clone(), failed
        if len(after._arms):
            after._add_to_arms(more, worse)
        after._set_rates(unexplained)
        return after

    def _add_to_arms(self, more: Tensor, worse: Tensor) -> None:
        """Count new successes (s,) of the sites, and failures at new sites (f, d), for the arms."""
        for index in more.nonzero()[:, 0].tolist():
            near = self._of_arms(self._succeeded[index])
            nearest = torch.maximum(self._outcomes[0].success, near)  # whatever the reach
            self._outcomes = tuple(
                one._replace(
                    in_favour=one.in_favour + more[index] * _on_grid(near.pow(reach)),
                    success=nearest,
                )
                for one, reach in zip(self._outcomes, _REACHES, strict=True)
            )
        for site in worse:
            near = self._of_arms(site)
            nearest = torch.maximum(self._outcomes[0].failure, near)
            self._outcomes = tuple(
                one._replace(
                    against=one.against + _on_grid(near.pow(reach)),
                    failure=nearest,
                )
                for one, reach in zip(self._outcomes, _REACHES, strict=True)
            )

    def _outcomes_of(self, points: Tensor) -> LocalOutcomes:
        if points is self._arms:
            return self._outcomes[_REACHES.index(self._reach)]
        return next(self._outcomes_at(points, self._reach))

    def _outcomes_at(self, points: Tensor, *reaches: int) -> Iterator[LocalOutcomes]:
        success = self._correlation(points, self._succeeded)
        failure = self._correlation(points, self._failed)
        for reach in reaches:
            yield LocalOutcomes(
                (success.pow(reach) * self._counts).sum(-1),
                failure.pow(reach).sum(-1),
                _largest(success),
                _largest(failure),
            )

    def _set_rates(self, unexplained: Tensor) -> None:
        """The reach, and rates: where nothing is near, at successes without one of their own."""
        some, others = _spread(len(self._succeeded)), _spread(len(self._failed))
        counts, unexplained = self._counts[some], unexplained[others]
        sizes = [len(self._succeeded) / max(len(some), 1), len(self._failed) / max(len(others), 1)]
        best = -math.inf
        with torch.no_grad():
            at_successes = [*self._outcomes_at(self._succeeded[some], *_REACHES)]
            at_failures = self._outcomes_at(self._failed[others], *_REACHES)
            for reach, good, bad in zip(_REACHES, at_successes, at_failures, strict=True):
                good, bad = good.without(successes=counts), bad.without(failures=1.0)
                successes = _ADVANCE + float(good.novelty.sum()) * sizes[0]
                failures = float((bad.novelty * unexplained).sum()) * sizes[1]
                rate = successes / (successes + failures)
                logs = good.success_rate(rate).clamp_min(LAST_DIGITS).log().sum() * sizes[0]
                by_chance = (1.0 - bad.success_rate(rate)).clamp_min(1.0 - _TOLERANCE)
                found = float(logs + (by_chance.log() * unexplained).sum() * sizes[1])
                if found > best:
                    best = found + _GAIN * (reach == _REACHES[0])
                    self._reach, self._elsewhere = reach, rate
        self._typical = 1.0
        if len(some):
            known = at_successes[_REACHES.index(self._reach)].without(successes=1.0)
            rates = known.success_rate(self._elsewhere)
            self._typical = float((counts * rates).sum() / counts.sum())

    def _of_arms(self, site: Tensor) -> Tensor:
        return self._correlation(self._arms, site.unsqueeze(0))[:, 0]

    def _correlation(self, points: Tensor, sites: Tensor) -> Tensor:
        found = [correlation(kernel, points, sites) for kernel in self._kernels]
        return reduce(torch.minimum, found)


def _begins(sites: Tensor, former: Tensor) -> bool:
    return len(former) == 0 or torch.equal(sites[: len(former)], former)


def _spread(number: int) -> Tensor:
    """Indices of at most `_COMPARED` of so many sites."""
    return torch.linspace(0, max(number - 1, 0), min(number, _COMPARED)).round().long()


def _on_grid(weights: Tensor) -> Tensor:
    return (weights * _GRID).round() / _GRID


def _largest(correlations: Tensor) -> Tensor:  # (n, s) -> (n,)
    return correlations.amax(-1) if correlations.shape[-1] else correlations.sum(-1)

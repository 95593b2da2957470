"""Forced exploration: a measurement far from all others while a search stays where it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from surefoot._internal.linalg import distances
from surefoot.acquisition.policy import Policy, UpperConfidenceBound, as_policy
from surefoot.acquisition.scores import PolicyState, ScoreRule
from surefoot.beliefs import Belief
from surefoot.risks import Risk
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.locations import Location
from surefoot.types import InvalidInput

_NEAR = 0.06  # root mean square of the coordinates' differences, in extents of the box
_RATE = 0.5  # queries near others for each exploration so far, after which the next one is due
_KNOWN = 0.2  # of the largest deviation, which the best point has by large noise for long
_DRAWN = 64  # candidates
_ANYWHERE = 512  # points by whose distances these are compared
_CHUNK = 1024  # sites whose distances are computed at once
_MOST = 2048  # sites up to which all distances cost less than the choice of the other policy


@dataclass(frozen=True)
class ForcedExploration:
    r"""Measures far from all known points while a search stays near them; else as another policy.

    A model that has seen one optimum may be certain that there is no other. A query is near if it
    is within :math:`0.06\sqrt{d}` extents of an earlier one in a box of d variables. After n
    explorations, the next one is due when more than n / 2 queries since the last one were near, so
    that T of these have about :math:`2\sqrt{T}` between them, and the policy has all others. What
    is near follows from the queries alone, failed ones among them, which a run that is resumed has
    too. While the deviation at the best measured point is more than a fifth of the largest one in
    the box, as it is for long under large noise, the policy has all queries.

    An exploration is the one of 64 quasi-random points by which the mean distance of a point of the
    box from the nearest one that is measured, failed or pending falls most; the farthest point of
    all would be in a corner, with little around it. A point counts by the probability that
    measuring it succeeds and its constraints hold. There is no exploration while the search is for
    a first feasible point, where variables or candidates are given, as by a safe search, once every
    point is near a measured one, and beyond 2,048 points.

    Args:
        policy: The other policy, or a score; by default that of `robust_ucb` in a box of at most 16
            variables.

    References:
        Bull 2011, "Convergence rates of efficient global optimization algorithms", Section 3.3, for
        random points beside an acquisition function whose hyperparameters are estimated; Johnson,
        Moore and Ylvisaker 1990, "Minimax and maximin distance designs", for designs by distances.

    Example:
        >>> import surefoot as sf
        >>> space, kernel = sf.Box([0.0], [1.0]), sf.kernels.squared_exponential(0.5)
        >>> optimizer = sf.Optimizer(space, kernel, ridge=0.01, policy=ForcedExploration())
        >>> info = optimizer.tell_all([[0.1], [0.11], [0.12]], [0.0, 0.0, 0.0])
        >>> bool(optimizer.ask().point > 0.6)
        True
    """

    policy: Policy | ScoreRule = field(
        default_factory=partial(UpperConfidenceBound, integrated=True)
    )

    def __post_init__(self) -> None:
        as_policy(self.policy)

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Refuse a space other than a box, and what the other policy refuses.

        Raises:
            InvalidInput: If it is refused.
        """
        if not isinstance(space, Box):
            raise InvalidInput(
                "`ForcedExploration` is for a `Box`, in which points have distances: pass the "
                "other policy alone."
            )
        as_policy(self.policy).check(space, risk)

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        """A point far from all others where one is due, else what the other policy chooses."""
        box = belief.space.design
        free = among is None and isinstance(box, Box) and not box.fixed
        known = len(belief.sites) + len(belief.failed)
        if free and known <= _MOST and not belief.seeks_feasibility:
            found = _exploration(belief, box, state.generator)  # type: ignore[arg-type]
            if found is not None:
                return found
        return as_policy(self.policy).choose(belief, among, state)


def _exploration(belief: Belief, box: Box, generator: torch.Generator) -> Location | None:
    """The location of an exploration, None where none is due or possible."""
    radius = _NEAR * math.sqrt(len(box.variables))
    points, order = _queries(belief)
    sites = (points - box.lower) / box.span
    if not _is_due(_is_near(sites, order, radius)):
        return None
    with torch.no_grad():
        drawn, anywhere = (box.sample(number, generator) for number in (_DRAWN, _ANYWHERE))
        if not _is_settled(belief, drawn):
            return None
        unit, others = ((points - box.lower) / box.span for points in (drawn, anywhere))
        nearest = distances(others, sites).amin(-1, keepdim=True)
        closer = (nearest - distances(others, unit)).clamp_min(0.0)
        if not belief.feasible.is_certain:
            closer = closer * belief.feasible(anywhere)[:, None]
        far = distances(unit, sites).amin(-1) >= radius
        worth = torch.where(far, closer.sum(0), 0.0)
    best = int(worth.argmax())
    return box.location(box.on_boundary(drawn[best])) if bool(worth[best] > 0.0) else None


def _is_settled(belief: Belief, elsewhere: Tensor) -> bool:
    """Whether the best measured point, if feasible, is known far better than some points (n, d)."""
    mean, deviation = belief.posterior.mean_and_deviation(belief.likely_sites)
    least_known = belief.posterior.mean_and_deviation(elsewhere)[1].max()
    return bool(deviation[mean.argmax()] < _KNOWN * least_known)


def _queries(belief: Belief) -> tuple[Tensor, list[int]]:
    """Points (S, d), in order of their first query, and the index of that of each query.

    Queries are measured ones in order of arrival, failed ones among them, and pending ones.
    """
    measured, pending = belief.observations.site.tolist(), len(belief.pending)
    order, start = [], 0
    for index, one in enumerate(belief.failed, len(belief.sites)):
        order += [*measured[start : one.after], index]
        start = one.after
    order += [*measured[start:], *range(len(belief.sites) - pending, len(belief.sites))]
    first = list(dict.fromkeys(order))
    place = {index: row for row, index in enumerate(first)}
    points = torch.cat([belief.sites, *(one.point[None] for one in belief.failed)])
    return points[first], [place[index] for index in order]


def _is_near(sites: Tensor, order: list[int], radius: float) -> list[bool]:
    """Whether each query, at a site (S, d) of the unit box, is within a radius of an earlier one.

    Sites are in order of their first query.
    """
    close = torch.zeros(len(sites), dtype=torch.bool, device=sites.device)
    for start in range(0, len(sites), _CHUNK):
        part = sites[start : start + _CHUNK]
        within = distances(part, sites[: start + len(part)]) < radius
        close[start : start + len(part)] = within.tril(start - 1).any(-1)
    new, seen = close.tolist(), -1
    near = []
    for site in order:
        near.append(site <= seen or new[site])
        seen = max(seen, site)
    return near


def _is_due(near: list[bool]) -> bool:
    """Whether an exploration is due after queries that were near others, or not."""
    stays = explorations = 0
    for one in near:
        if one:
            stays += 1
        elif stays > _RATE * explorations:
            explorations, stays = explorations + 1, 0
    return stays > _RATE * explorations

"""Points at which limits, and the success of a measurement, are all but certain to hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from scipy.sparse.csgraph import minimum_spanning_tree
from torch import Tensor

from surefoot._internal.linalg import distances
from surefoot._internal.numbers import CONFIDENT, FEWEST
from surefoot.acquisition.argmax import RAW
from surefoot.acquisition.refinement import CHANGED, stepped
from surefoot.beliefs.constraints import ConstraintBelief, ConstraintBeliefs
from surefoot.spaces import Arms, Box
from surefoot.types import NotReady

_AROUND = 1024  # candidates around what is known to be safe
_REACHES = (0.002, 0.3)  # standard deviations of their steps, of the box
_MOST = 384  # candidates that a policy compares
_UNANNOUNCED = 1.0  # distance that the prior rate of events is worth, of the box, for failures
_VALUE = 0.1  # the same for a value of a limit, which is approached before it breaks
_MORE = 2  # values of a limit than coordinates, by which it has no model yet
_FAR = 0.5  # of the largest distance, from which a point extends the safe set
_CLOSE = 0.03  # distance, of the box, at which a point is all but measured
_INACTIVE = -2  # instead of a category or special value


@dataclass(frozen=True, eq=False)
class SafeSet:
    r"""Points that may be measured where limits must not be broken, or measurements not fail.

    The limits hold by their models, with the confidence asked for, and close to points that have
    kept them until there are enough values for a model. A failure announces itself by nothing: it
    is taken to happen at a constant rate over the distance from the nearest success. With a
    Gamma(1, w) prior of that rate, f failures, and successes that are connected by steps of total
    length b, the next step of length r succeeds with probability :math:`((w+b)/(w+b+r))^{1+f}`,
    with w = 1. The edge of a failure at distance s is taken to be anywhere between, and half of all
    steps to lead towards it, so that a step fails with probability r / (r + s) / 2. Unless
    measurements must not fail, f is 0 once a limit has a model, which knows of its failures, and w
    a tenth of the number of its values, from few of which it may extrapolate badly. Distances are
    Euclidean, relative to the extents of the space. A category or special value with which nothing
    was measured is not safe.

    Args:
        space: The space, of which a part may be chosen from.
        kept: Points (k, d) that were measured, within all limits.
        broken: Points (b, d) beyond a limit or whose measurement failed.
        limits: Beliefs of the limits that must not be broken.
        survives: Whether measurements must not fail.

    References:
        Sui et al. 2015, "Safe exploration for optimization with Gaussian processes".
    """

    space: Arms | Box
    kept: Tensor
    broken: Tensor
    limits: tuple[ConstraintBelief, ...]
    survives: bool

    def holds(self, points: Tensor) -> Tensor:
        """Whether points (n, d) are safe (n,)."""
        near = self._distance(points)
        safe = self._known_kinds(points) & (near <= self._reach)
        if len(self._announced):
            beyond = distances(self._unit(points), self._unit(self._announced)).amin(-1)
            safe &= near <= 2.0 * (1.0 - CONFIDENT) * (near + beyond)
        if bool(safe.any()) and self.is_modelled:
            safe[safe.clone()] &= self.assurance(points[safe]) >= CONFIDENT
        return safe

    def chance(self, points: Tensor) -> Tensor:
        """1 where points (n, d) are safe or were measured and kept their limits, else 0 (n,)."""
        with torch.no_grad():
            return ((points[:, None] == self.kept).all(-1).any(-1) | self.holds(points)).double()

    def assurance(self, points: Tensor) -> Tensor:
        """Probability (n,) that all limits hold at points (n, d), on the scale of `CONFIDENT`."""
        total = torch.ones(len(points), dtype=torch.float64, device=points.device)
        with torch.no_grad():
            for one in self.limits:
                total = total * one.safety(points)
        return total

    @property
    def is_modelled(self) -> bool:
        """Whether there are limits, with enough values for models of all of them."""
        known = [one.margin.observations for one in self.limits]
        return len(known) > 0 and all(len(one) > _MORE + one.sites.shape[-1] for one in known)

    @property
    def _announced(self) -> Tensor:
        """Points (b, d) beyond an edge, unless the models of the limits know of them all."""
        return self.broken[:0] if self.is_modelled and not self.survives else self.broken

    @cached_property
    def _reach(self) -> float:
        """How far from the nearest point that is known to be safe others may be."""
        if bool((self.kept[:, None] == self.broken).all(-1).any()):
            return 0.0  # a start whose value was beyond a limit: measured again first
        worth, events = _UNANNOUNCED, 1 + len(self._announced)
        if self.is_modelled and not self.survives:
            worth = max(worth, _VALUE * min(len(one.margin.observations) for one in self.limits))
        known = self._unit(self.kept).cpu()  # distinct, so that no distance between two is 0
        explored = worth + float(minimum_spanning_tree(torch.cdist(known, known).numpy()).sum())
        return explored * (CONFIDENT ** (-1.0 / events) - 1.0)

    def candidates(self, space: Arms | Box, generator: torch.Generator) -> Tensor:
        """Safe points (n, d) of a part of the space: those known, around them and elsewhere."""
        if isinstance(space, Arms):
            every = space.points
        else:
            base = space.brought_inside(self.kept)
            several = base[torch.randint(len(base), (_AROUND,), generator=generator)]
            low, high = _REACHES
            reach = low * (high / low) ** torch.rand(_AROUND, 1, generator=generator).double()
            share = max(CHANGED / len(space.variables), 0.5)
            moved = stepped(several, space, reach, share, generator)
            every = torch.cat([base, moved, space.sample(RAW, generator)])
        safe = every[self.holds(every)]
        return safe[:: max(1, -(-len(safe) // _MOST))]

    def safest(self, points: Tensor) -> int:
        """Index of the point, of several (n, d), that is the safest."""
        return int((self.assurance(points) - self._distance(points).clamp_max(1e3)).argmax())

    def distance_of(self, points: Tensor) -> Tensor:
        """Distance (n,) of points (n, d) from the nearest one that was measured."""
        measured = self._unit(torch.cat([self.kept, self.broken]))
        return distances(self._unit(points), measured).amin(-1)

    def expanding(self, points: Tensor) -> Tensor:
        """Indices (k,) of the points (n, d) by which the safe set grows: far from all measured."""
        distance = self.distance_of(points)
        return (distance >= _FAR * distance.max()).nonzero()[:, 0]

    def is_known(self, point: Tensor) -> bool:
        """Whether a point (d,) is so close to a measured one that nothing grows by it."""
        return bool(self.distance_of(point.unsqueeze(0)) < _CLOSE)

    @property
    def _unit_span(self) -> Tensor:
        span = self.space.upper - self.space.lower
        return torch.where(span > 0.0, span, torch.ones_like(span))

    def _unit(self, points: Tensor) -> Tensor:
        return (points - self.space.lower) / self._unit_span

    def _distance(self, points: Tensor) -> Tensor:
        """Distance (n,) from the nearest point that is known to be safe."""
        return distances(self._unit(points), self._unit(self.kept)).amin(-1)

    def _known_kinds(self, points: Tensor) -> Tensor:
        """Mask (n,) of points whose categories and special values were measured."""
        known = torch.ones(len(points), dtype=torch.bool, device=points.device)
        if isinstance(self.space, Box):
            for group in self.space.choices:
                known &= _is_among(_category(points, group), _category(self.kept, group))
            for arc in self.space.arcs:
                kinds = [
                    torch.where(
                        (some[:, list(arc.columns)] == 0.0).all(-1),
                        _INACTIVE,
                        arc.special(some[:, list(arc.columns)]),
                    )
                    for some in (points, self.kept)
                ]
                known &= _is_among(*kinds)
        return known


def _category(points: Tensor, group: tuple[int, ...]) -> Tensor:
    """Index (n,) of the category at points (n, d)."""
    encoded = points[:, list(group)]
    return torch.where((encoded == 0.0).all(-1), _INACTIVE, encoded.argmax(-1))


def _is_among(values: Tensor, known: Tensor) -> Tensor:
    return (values[:, None] == known.unique()).any(-1)


def safe_set(
    space: Arms | Box,
    constraints: ConstraintBeliefs,
    sites: Tensor,
    failed: Tensor,
    *,
    survives: bool,
) -> SafeSet:
    """The safe set after some measurements.

    Args:
        space: The space.
        constraints: Beliefs of the constraints.
        sites: Points (s, d) whose measurement succeeded.
        failed: Points (f, d) whose measurement failed.
        survives: Whether measurements must not fail.

    Raises:
        NotReady: If no point is known to be safe.
    """
    names = [name for name, limit in constraints.limits.items() if limit.safe]
    limits = tuple(constraints.beliefs[name] for name in names if name in constraints.measured)
    within = torch.full((len(sites),), len(limits) == len(names), device=sites.device)
    for one in limits:  # most of whose values keep them
        within &= (sites[:, None] == one.margin.observations.sites[~one.broken]).all(-1).any(-1)
    if survives and len(failed):
        within &= ~(sites[:, None] == failed[None]).all(-1).any(-1)
    kept = sites[within]
    if not len(kept):
        tried = min((len(one.margin.observations) for one in limits), default=FEWEST)
        if len(limits) < len(names) or len(sites) != 1 or tried >= FEWEST:
            unmeasured = [name for name in names if name not in constraints.measured]
            raise NotReady(_why(names, unmeasured, len(sites), len(failed), survives))
        kept = sites  # which may have been an outlier
    broken = torch.cat([failed if survives else failed[:0], sites[~within]])
    return SafeSet(space, kept, broken, limits, survives)


def _why(
    names: list[str], unmeasured: list[str], measured: int, failed: int, survives: bool
) -> str:
    what = " and ".join([*(f"`{name}`" for name in names), *(["survival"] if survives else [])])
    found = "no measurement was within its limits"
    if unmeasured:
        found = f"no trial has measured {' or '.join(f'`{name}`' for name in unmeasured)}"
    if not measured:
        found = "every measurement has failed" if failed else "nothing was measured"
    how = "Tell the measurement of one first"
    if unmeasured and measured:
        how += f", with {' and '.join(f'`{name}`' for name in unmeasured)}"
    where = "give every parameter a default, or enqueue one"
    if failed and not measured:
        where = "import one, or `surefoot forget` a failure of another cause, with `--measured`"
    return (
        f"{what} must be safe, but {found}: a safe search begins at a configuration that is known "
        f"to be safe. {how} (in a study: {where})."
    )

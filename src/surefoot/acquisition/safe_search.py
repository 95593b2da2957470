"""Points at which limits, and the success of a measurement, are all but certain to hold."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot.beliefs.constraints import CONFIDENT, ConstraintBelief, ConstraintBeliefs
from surefoot.spaces import Arms, Box
from surefoot.types import NotReady

_DRAWN = 512  # candidates anywhere
_AROUND = 1024  # candidates around what is known to be safe
_REACHES = (0.002, 0.3)  # standard deviations of their steps, of the box
_CHANGED = 2.0  # variables of a candidate that differ, on average
_MOST = 512  # candidates that a policy compares
_ATTEMPTS = 3  # measurements of a start beyond a limit, which may be outliers
_WHOLE = 1.0  # distance without an event that the prior rate of events is worth, of the box
_ANNOUNCED = 2.0  # the same where limits are measured, which are approached before they break
_INACTIVE, _NUMBER = -2, -1  # kinds of values


@dataclass(frozen=True, eq=False)
class SafeSet:
    r"""Points that may be measured where limits must not be broken, or measurements not fail.

    The limits hold by their models, with the confidence asked for, and close to points that have
    kept them until there are enough values for a model. A failure announces itself by nothing: it
    is taken to happen at a constant rate over the distance from the nearest success. With a
    Gamma(1, 1) prior of that rate, f failures, and successes that are connected by steps of total
    length b, the next step of length r succeeds with probability :math:`((1+b)/(1+b+r))^{1+f}`.
    Distances are Euclidean, relative to the extents of the space. A category or special value with
    which nothing was measured is not safe.

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
        safe = self._known_kinds(points) & (self._distance(points) <= self._reach)
        if bool(safe.any()) and self.is_modelled:
            safe[safe.clone()] &= self.assurance(points[safe]) >= CONFIDENT
        return safe

    def chance(self, points: Tensor) -> Tensor:
        """1 where points (n, d) are safe or were measured and kept their limits, else 0 (n,)."""
        with torch.no_grad():
            known = (points[:, None] == self.kept).all(-1).any(-1)
            return (known | self.holds(points)).double()

    def assurance(self, points: Tensor) -> Tensor:
        """Probability (n,) that all limits hold at points (n, d), on the scale of `CONFIDENT`."""
        total = torch.ones(len(points), dtype=torch.float64, device=points.device)
        with torch.no_grad():
            for one in self.limits:
                total = total * one.assurance(points)
        return total

    @property
    def is_modelled(self) -> bool:
        """Whether there are enough values for models of the limits."""
        least = min((len(one.margin.observations) for one in self.limits), default=0)
        return len(self.limits) > 0 and least > self._least

    @property
    def is_starting(self) -> bool:
        """Whether there are too few values for models of the limits."""
        return len(self.limits) > 0 and not self.is_modelled

    @property
    def _least(self) -> int:
        return 2 + len(self._unit_span)

    @property
    def _reach(self) -> float:
        """How far from the nearest point that is known to be safe others may be."""
        worth = _WHOLE if self.survives else _ANNOUNCED
        explored = worth + _tree_length(self._unit(self.kept))
        events = 1 + len(self.broken)
        return explored * (CONFIDENT ** (-1.0 / events) - 1.0)

    def candidates(self, space: Arms | Box, generator: torch.Generator) -> Tensor:
        """Safe points (n, d) of a part of the space: those known, around them and elsewhere."""
        if isinstance(space, Arms):
            every = space.points
        else:
            base = space.brought_inside(self.kept)
            several = base[torch.randint(len(base), (_AROUND,), generator=generator)]
            low, high = _REACHES
            drawn = torch.rand(_AROUND, 1 + len(space.variables), generator=generator).double()
            reach = low * (high / low) ** drawn[:, :1]
            noise = torch.randn(
                _AROUND, space.dimension, dtype=torch.float64, generator=generator
            )
            mask = torch.zeros_like(noise)
            for variable, columns in enumerate(space.variables):
                share = max(_CHANGED / len(space.variables), 0.5)
                mask[:, columns] = (drawn[:, 1 + variable, None] < share).double()
            moved = several + (reach * mask * noise).to(base) * space.span
            every = torch.cat([base, space.snap(moved), space.sample(_DRAWN, generator)])
        return every[self.holds(every)][:_MOST] if isinstance(space, Arms) else self._some(every)

    def _some(self, points: Tensor) -> Tensor:
        safe = points[self.holds(points)]
        return safe[:: max(1, -(-len(safe) // _MOST))]

    def safest(self, points: Tensor) -> int:
        """Index of the point, of several (n, d), that is the safest."""
        return int((self.assurance(points) - self._distance(points).clamp_max(1e3)).argmax())

    def farthest(self, points: Tensor) -> int:
        """Index of the point, of several (n, d), that is the farthest from those measured."""
        measured = self._unit(torch.cat([self.kept, self.broken]))
        return int(torch.cdist(self._unit(points), measured).amin(-1).argmax())

    @property
    def _unit_span(self) -> Tensor:
        span = self.space.upper - self.space.lower
        return torch.where(span > 0.0, span, torch.ones_like(span))

    def _unit(self, points: Tensor) -> Tensor:
        return (points - self.space.lower) / self._unit_span

    def _distance(self, points: Tensor) -> Tensor:
        """Distance (n,) from the nearest point that is known to be safe."""
        return torch.cdist(self._unit(points), self._unit(self.kept)).amin(-1)

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


def _tree_length(points: Tensor) -> float:
    """Length of the shortest tree that connects points (k, d) (Prim 1957)."""
    left = torch.cdist(points, points)
    nearest, length = left[0].clone(), 0.0
    outside = torch.ones(len(points), dtype=torch.bool)
    outside[0] = False
    while bool(outside.any()):
        index = int(torch.where(outside, nearest, torch.inf).argmin())
        length += float(nearest[index])
        outside[index] = False
        nearest = torch.minimum(nearest, left[index])
    return length


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
    values = torch.zeros(len(sites), device=sites.device)
    for one in limits:
        medians, counts = _margins(one, sites)
        within &= medians >= 0.0
        values = torch.maximum(values, counts)
    if survives and len(failed):
        within &= ~(sites[:, None] == failed[None]).all(-1).any(-1)
    kept = sites[within]
    if not len(kept):
        if len(limits) and len(sites) == 1 and float(values[0]) < _ATTEMPTS:
            kept = sites
        else:
            raise NotReady(_why(names, len(sites), survives))
    broken = torch.cat([failed if survives else failed[:0], sites[~within]])
    return SafeSet(space, kept, broken, limits, survives)


def _margins(one: ConstraintBelief, sites: Tensor) -> tuple[Tensor, Tensor]:
    """Median margin (s,) at each site, NaN where none was measured, and how many there were."""
    observations = one.margin.observations
    medians, counts = sites.new_full((len(sites),), torch.nan), sites.new_zeros(len(sites))
    for index, site in enumerate(sites):
        at = (observations.sites == site).all(-1).nonzero()[:, 0]
        if len(at):
            values = observations.rewards[observations.site.to(at.device) == at[0]]
            medians[index], counts[index] = values.median(), len(values)
    return medians, counts


def _why(names: list[str], measured: int, survives: bool) -> str:
    what = " and ".join([*(f"`{name}`" for name in names), *(["survival"] if survives else [])])
    found = "nothing was measured" if not measured else "no measurement was within its limits"
    return (
        f"{what} must be safe, but {found}: a safe search begins at a configuration that is known "
        "to be safe. Tell the measurement of one first (in a study: give every parameter a "
        "default, or enqueue one)."
    )

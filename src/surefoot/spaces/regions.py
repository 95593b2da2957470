"""Regions of a box: where known constraints between its coordinates hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from surefoot._internal.tensors import NO_ROWS

_STEPS = 46  # of a projection, and halvings of a segment
_SMOOTH = 6  # of them, by which Newton's method has converged if nothing is rounded
_BEYOND = 1e-10  # of the extents, by which a projection moves past the boundary

Projection = Callable[[Tensor], Tensor]  # (n, d) -> (n, d)


class Region(Protocol):
    """Points where several rules hold.

    Rules are functions of the first coordinates; a point may have more, which do not count.
    """

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules in words."""

    @property
    def examples(self) -> Tensor:
        """Points (k, d) where all of them hold, at least one."""

    def margins(self, points: Tensor) -> Tensor:
        """Margins (n, r) of the rules at points (n, d), at least 0 where they hold.

        They are differentiable, and infinite where only the sign is known. A boundary is outside,
        so that a search that follows it stays inside in spite of rounding.
        """

    def holds(self, points: Tensor) -> Tensor:
        """Whether all rules hold (n,) at points (n, d), on their boundaries too."""

    def on_boundary(self, point: Tensor, given: Collection[int] = ()) -> Tensor:
        """Point (d,) on the boundaries that a point (d,) almost touches.

        Args:
            point: The point.
            given: Coordinates that do not move.
        """


@dataclass(frozen=True)
class Anywhere:
    """All points."""

    @property
    def rules(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def examples(self) -> Tensor:
        """None, (0, 0)."""
        return NO_ROWS

    def margins(self, points: Tensor) -> Tensor:
        """No margins, (n, 0)."""
        return points.new_zeros(len(points), 0)

    def holds(self, points: Tensor) -> Tensor:
        """True (n,) for points (n, d)."""
        return torch.ones(len(points), dtype=torch.bool, device=points.device)

    def on_boundary(self, point: Tensor, given: Collection[int] = ()) -> Tensor:
        """The point (d,)."""
        return point


ANYWHERE = Anywhere()


@dataclass(frozen=True, eq=False)
class PartOfRegion:
    """Points of a region in which some coordinates have given values.

    Args:
        region: The region.
        fixed: Values by the index of a coordinate.
        examples: Points (k, d) of it, at least one.
    """

    region: Region
    fixed: Mapping[int, float]
    examples: Tensor

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of the region."""
        return self.region.rules

    def margins(self, points: Tensor) -> Tensor:
        """Margins (n, r), which do not vary with the given coordinates."""
        return self.region.margins(with_fixed(points, self.fixed))

    def holds(self, points: Tensor) -> Tensor:
        """Whether all rules hold (n,) at points (n, d) with the given coordinates."""
        return self.region.holds(with_fixed(points, self.fixed))

    def on_boundary(self, point: Tensor, given: Collection[int] = ()) -> Tensor:
        """Point (d,) on the boundaries that a point (d,) almost touches."""
        return self.region.on_boundary(point, {*given, *self.fixed})


def with_fixed(points: Tensor, fixed: Mapping[int, float]) -> Tensor:
    """Points (n, d) with given values of some coordinates."""
    if not fixed:
        return points
    columns = torch.tensor([*fixed], device=points.device)
    values = points.new_tensor([*fixed.values()])
    return points.index_copy(1, columns, values.expand(len(points), -1))


def _outside(region: Region, points: Tensor) -> Tensor:
    """Whether points (n, d) are outside, as a boundary is, and what rounding puts beyond it."""
    with torch.no_grad():
        return (region.margins(points) < 0.0).any(-1)


def moved_inside(
    points: Tensor, region: Region, lower: Tensor, span: Tensor, snap: Projection
) -> Tensor:
    """Points of a box moved to near ones where all rules hold.

    Along the gradients of violated rules to their boundary, where these are known; else towards an
    example, until the rules hold.

    Args:
        points: Points (n, d) of the box, as `snap` leaves them.
        region: The rules.
        lower: Lower bounds (d,).
        span: Extents (d,).
        snap: Projection on the box without rules.

    Returns:
        Points (n, d).
    """
    outside = _outside(region, points)
    if not bool(outside.any()):
        return points
    projected, inside = project(points[outside], region, lower, span, snap)
    if not bool(inside.all()):
        projected[~inside] = _towards_examples(projected[~inside], region, span, snap)
    moved = points.clone()
    moved[outside] = projected
    return moved


def project(
    points: Tensor, region: Region, lower: Tensor, span: Tensor, snap: Projection
) -> tuple[Tensor, Tensor]:
    """Points of a box after steps of Newton's method on the rule that is violated most.

    Args:
        points: Points (n, d) of the box.
        region: The rules.
        lower: Lower bounds (d,).
        span: Extents (d,).
        snap: Projection on the box without rules.

    Returns:
        Points (n, d), and whether all rules hold there (n,).
    """
    found, moving = points.clone(), (points - lower) / span
    inside = torch.zeros(len(points), dtype=torch.bool, device=points.device)
    for step in range(_STEPS):
        found[~inside] = snap((lower + span * moving)[~inside])
        rest = ~inside
        distance, direction, satisfied = _violation(found[rest], region, lower, span)
        inside[rest] = satisfied
        if not bool((distance > 0.0).any()):
            break
        # Then ever further, since what is rounded afterwards may fall back across the boundary.
        further = max(step - _SMOOTH, 0)
        length = distance * (1.0 + 0.05 * further) + _BEYOND * 2.0 ** min(further, 16)
        moving[rest] = (moving[rest] + (length[:, None] * direction)).clamp(0.0, 1.0)
    return found, inside


def _violation(
    points: Tensor, region: Region, lower: Tensor, span: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """How far (n,) and in which direction (n, d) the most distant rule would hold, in the cube.

    The distance is 0 where all rules hold, or none that is violated has a gradient; third, whether
    all of them hold (n,).
    """
    unit = ((points - lower) / span).detach()
    with torch.enable_grad():
        at = unit.clone().requires_grad_()
        margins = region.margins(lower + span * at)
        slopes = [_slope(margins[:, rule], at) for rule in range(margins.shape[1])]
    margins = margins.detach()
    known = margins.isfinite()
    farthest, direction = torch.zeros_like(unit[:, 0]), torch.zeros_like(unit)
    for rule, slope in enumerate(slopes):
        # A coordinate at its bound does not move beyond it.
        blocked = ((unit <= 0.0) & (slope < 0.0)) | ((unit >= 1.0) & (slope > 0.0))
        slope = torch.where(blocked, 0.0, slope)
        size = slope.norm(dim=-1)
        distance = torch.where(known[:, rule], -margins[:, rule], 0.0) / size
        usable = (distance > farthest) & distance.isfinite()
        farthest = torch.where(usable, distance, farthest)
        direction = torch.where(usable[:, None], slope / size[:, None], direction)
    return farthest, direction, (margins >= 0.0).all(-1)


def _slope(margin: Tensor, at: Tensor) -> Tensor:
    """Gradients (n, d) of margins (n,), 0 where they are infinite."""
    if not margin.requires_grad:
        return torch.zeros_like(at)
    finite = torch.where(margin.isfinite(), margin, torch.zeros_like(margin))
    (slope,) = torch.autograd.grad(finite.sum(), at, retain_graph=True, allow_unused=True)
    return torch.zeros_like(at) if slope is None else slope.nan_to_num(0.0, 0.0, 0.0)


def _towards_examples(points: Tensor, region: Region, span: Tensor, snap: Projection) -> Tensor:
    """The last points (n, d) inside on segments from the nearest examples to points (n, d)."""
    examples = region.examples.to(points)
    own = examples.shape[1]
    distances = torch.cdist(points[:, :own] / span[:own], examples / span[:own])
    inner = points.clone()
    inner[:, :own] = examples[distances.argmin(-1)]
    start, low, high = inner, points.new_zeros(len(points), 1), points.new_ones(len(points), 1)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        tried = snap(start + middle * (points - start))
        right = ~_outside(region, tried)
        inner = torch.where(right[:, None], tried, inner)
        low, high = (
            torch.where(right[:, None], middle, low),
            torch.where(right[:, None], high, middle),
        )
    return inner

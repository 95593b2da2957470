"""Region of an encoded space where the constraints between its parameters hold."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot._internal.numbers import ROUNDING
from surefoot.parameters.decimal_grid import floats_near
from surefoot.parameters.parameter import Float, InvalidConstraint
from surefoot.spaces.regions import project
from surefoot.spaces.representatives import every_point

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from surefoot.parameters.encoding import Encoding
    from surefoot.parameters.rules import Rule


_TRIED = 2**14  # combinations of a finite space, all of them, or points of any other
_KEPT = 512  # of them, or those nearest to the region
_ENOUGH = 32


@dataclass(frozen=True, eq=False)
class Rules:
    """The region of an encoding where its rules hold, or some of them.

    Args:
        encoding: The encoding.
        chosen: Positions of the rules; None for all.
    """

    encoding: Encoding
    chosen: tuple[int, ...] | None = None

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules as they were written."""
        return tuple(rule.text for rule in self.encoding.rules)

    @property
    def examples(self) -> Tensor:
        """Points (k, d) where all of them hold; none where some were chosen."""
        none = self.encoding.unrestricted.lower[None, :0]
        return self.encoding.examples if self.chosen is None else none

    def margins(self, points: Tensor) -> Tensor:
        """Margins (n, r) of the rules at points (n, d)."""
        margins = self.encoding.margins(points)
        return margins if self.chosen is None else margins[:, list(self.chosen)]

    def holds(self, points: Tensor) -> Tensor:
        """Whether the rules hold (n,) at points (n, d)."""
        if self.chosen is None:
            return self.encoding.holds(points)
        with torch.no_grad():
            return (self.margins(points) >= 0.0).all(-1)

    def on_boundary(self, point: Tensor, given: Collection[int] = ()) -> Tensor:
        """Point (d,) on the boundaries that a point (d,) almost touches."""
        return point if self.chosen is not None else self.encoding.on_boundary(point, given)


def examples_of(encoding: Encoding) -> Tensor:
    """Points (k, d) of an encoded space where all its rules hold.

    Args:
        encoding: The encoding.

    Raises:
        InvalidConstraint: If there is none, or none was found; it names a smallest set of rules
            that exclude each other.
    """
    box = encoding.unrestricted
    every = every_point(box, _TRIED)
    tried = box.sample(_TRIED, torch.Generator().manual_seed(0)) if every is None else every
    chosen = tuple(range(len(encoding.rules)))
    found = _satisfying(encoding, chosen, tried, complete=every is not None)
    if len(found):
        return found[:_KEPT]
    for index in chosen:
        fewer = tuple(one for one in chosen if one != index)
        if fewer and not len(_satisfying(encoding, fewer, tried, complete=every is not None)):
            chosen = fewer
    raise InvalidConstraint(chosen, _why(encoding, chosen, complete=every is not None))


def _satisfying(
    encoding: Encoding, chosen: Sequence[int], tried: Tensor, *, complete: bool
) -> Tensor:
    """Points (k, d) where some of the rules hold, of those tried or near them."""
    region, box = Rules(encoding, tuple(chosen)), encoding.unrestricted
    inside = tried[region.holds(tried)]
    if complete or len(inside) >= _ENOUGH:
        return inside
    with torch.no_grad():
        worst = region.margins(tried).amin(-1)
    nearest = tried[worst.argsort(descending=True)[:_KEPT]]
    spread = tried[:_KEPT]
    moved, right = project(torch.cat([nearest, spread]), region, box.lower, box.span, box.snap)
    return torch.cat([inside, moved[right]])


def _why(encoding: Encoding, chosen: Sequence[int], *, complete: bool) -> str:
    """Why no configuration is left, and what to do."""
    texts = [f"`{encoding.rules[index].text}`" for index in chosen]
    listed = " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
    which = f"both {listed}" if len(texts) == 2 else listed
    if complete:
        return f"no configuration satisfies {which}; widen the ranges or relax a rule"
    hint = ""
    margins = encoding.margins(encoding.unrestricted.sample(8, torch.Generator().manual_seed(0)))
    if not bool(margins[:, list(chosen)].isfinite().any(0).all()):
        hint = (
            "; a function that returns numbers, at least 0 where it holds, shows the way to a "
            "small region"
        )
    return (
        f"no configuration was found that satisfies {which}; widen the ranges or relax a rule{hint}"
    )


_NEAR = 1e-5  # of the range of a parameter: a search stops that close to a boundary


def on_boundary(encoding: Encoding, point: Tensor, given: Collection[int]) -> Tensor:
    """Point (d,) on the boundaries of rules that a point (d,) almost touches.

    A search stops before a boundary by more than its rounding errors, at 3.999999998996 for
    `a <= 4`. For each such rule a continuous parameter moves to the last value, as it is shown, for
    which all rules hold. Where there is none, such as for `a < 4`, the point stays.

    Args:
        encoding: The encoding.
        point: The point.
        given: Coordinates that do not move.
    """
    found = point.cpu()[: encoding.unrestricted.dimension]
    params = encoding.configuration(found)
    free = [
        name
        for name, value in params.items()
        if isinstance(one := encoding.space.parameters[name], Float)
        and one.step is None
        and one.low < value < one.high
        and value not in one.special
        and not {*given} & {*encoding.parameters[name].columns}
    ]
    # Those with the fewest parameters to move come first.
    for index in sorted(range(len(encoding.rules)), key=lambda at: len(encoding.rules[at].names)):
        moved = _moved(encoding, encoding.rules[index], params, free)
        if moved is None:
            continue
        name, value = moved
        tried = [encoding.encode(params | {name: near}) for near in floats_near(value)]
        points = torch.stack([found, *(one for one in tried if one is not None)])
        shown = [encoding.configuration(one) for one in points]
        margins = encoding.margins_of(shown, tolerance=0.0)
        least = margins[0].clamp_max(0.0)  # of a grid, whose values add up to a bit more
        right = (margins >= least).all(-1) & (margins[:, index] >= 0.0) & encoding.holds(points)
        right &= torch.tensor([one.keys() == params.keys() for one in shown])  # the same active
        if bool(right.any()):
            best = int(torch.where(right, margins[:, index], math.inf).argmin())
            found, params = points[best], shown[best]
            free.remove(name)
    return torch.cat([found.to(point), point[len(found) :]])


def _moved(
    encoding: Encoding, rule: Rule, params: Mapping[str, Any], free: Sequence[str]
) -> tuple[str, float] | None:
    """The parameter that contributes most to a rule, and its value on a boundary, if that is close.

    So a floating-point number more or less of the parameter is about one more or less of the rule.
    """
    columns, active = encoding.columns_of([params])
    values = {name: columns[name].requires_grad_() for name in rule.names if name in free}  # type: ignore[union-attr]
    with torch.enable_grad():
        margin = rule.margins(columns, active, 0.0)
    if not values or not margin.requires_grad or not bool(margin.isfinite()):
        return None
    slopes = torch.autograd.grad(margin.sum(), [*values.values()], allow_unused=True)
    found = [
        (abs(params[name] * float(slope)), name, params[name] - float(margin.detach() / slope))
        for name, slope in zip(values, slopes, strict=True)
        if slope is not None and float(slope) != 0.0
    ]
    near = [
        each
        for each in found
        if abs(each[2] - params[each[1]]) <= _reach(encoding, each[1], params[each[1]])
    ]
    return max(near)[1:] if near else None


def _reach(encoding: Encoding, name: str, value: float) -> float:
    """How far a number may move: as little of its range as of itself."""
    number = encoding.space.parameters[name]
    low, high = float(number.low), float(number.high)  # type: ignore[union-attr]
    extent = value * math.log(high / low) if number.log else high - low  # type: ignore[union-attr]
    return min(_NEAR * extent, max(_NEAR * abs(value), ROUNDING * extent))

"""Region of an encoded space where the constraints between its parameters hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot.parameters.parameter import InvalidConstraint
from surefoot.spaces.every_point import every_point
from surefoot.spaces.regions import project

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from surefoot.parameters.encoding import Encoding

_TRIED = 2**14  # combinations of a finite space, all of them, or points of any other
_KEPT = 512  # of them, or those nearest to the region
_ENOUGH = 32


@dataclass(frozen=True, eq=False)
class Rules:
    """The region of an encoding where its rules hold.

    Args:
        encoding: The encoding.
    """

    encoding: Encoding

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules as they were written."""
        return tuple(rule.text for rule in self.encoding.rules)

    @property
    def examples(self) -> Tensor:
        """Points (k, d) where all of them hold."""
        return self.encoding.examples

    def margins(self, points: Tensor) -> Tensor:
        """Margins (n, r) of the rules at points (n, d)."""
        return self.encoding.margins(points)

    def holds(self, points: Tensor) -> Tensor:
        """Whether all of them hold (n,) at points (n, d)."""
        return self.encoding.holds(points)

    def on_boundary(self, point: Tensor, given: Collection[int] = ()) -> Tensor:
        """Point (d,) on the boundaries that a point (d,) almost touches."""
        return self.encoding.on_boundary(point, given)


@dataclass(frozen=True, eq=False)
class _Some:
    """The region of some of the rules."""

    encoding: Encoding
    chosen: tuple[int, ...]

    @property
    def rules(self) -> tuple[str, ...]:
        return tuple(self.encoding.rules[index].text for index in self.chosen)

    @property
    def examples(self) -> Tensor:
        return self.encoding.unrestricted.lower[None, :0]

    def margins(self, points: Tensor) -> Tensor:
        return self.encoding.margins(points)[:, list(self.chosen)]

    def holds(self, points: Tensor) -> Tensor:
        with torch.no_grad():
            return (self.margins(points) >= 0.0).all(-1)

    def on_boundary(self, point: Tensor, given: Collection[int] = ()) -> Tensor:
        return point


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
    region, box = _Some(encoding, tuple(chosen)), encoding.unrestricted
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

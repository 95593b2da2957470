"""Points to measure in place of one that another worker is measuring."""

from __future__ import annotations

import itertools
import math

import torch
from torch import Tensor

from surefoot.integrations.optuna.encoding import Encoding
from surefoot.spaces import Box

_MOST = 1024  # combinations of a finite space that are listed
_NUMBER = 256  # points drawn elsewhere


def alternatives(
    encoding: Encoding, point: Tensor, taken: list[Tensor], generator: torch.Generator
) -> Tensor:
    """Points (n, d) that are none of those taken, from the whole space and around a point.

    Args:
        encoding: Encoding of the search space.
        point: The point (d,) that is to be replaced.
        taken: Points (d,) that are being measured, rounded to what can be measured.
        generator: Source of all randomness.

    Returns:
        All points of a small finite space that are not taken, otherwise random ones; none (0, d)
        if every point is taken.
    """
    box = encoding.box
    candidates = _all_points(box)
    if candidates is None:
        drawn = box.sample(_NUMBER, generator)
        reach = torch.tensor([0.3, 0.1, 0.03, 0.01]).repeat_interleave(_NUMBER // 4)[:, None]
        noise = torch.randn(len(reach), box.dimension, dtype=torch.float64, generator=generator)
        candidates = torch.cat([drawn, box.snap(point + reach * noise)])
    free = [one for one in candidates if not is_any_of(encoding.rounded(one), taken)]
    return torch.stack(free) if free else candidates[:0]


def is_any_of(point: Tensor, points: list[Tensor]) -> bool:
    """Whether a point (d,) is one of several."""
    return any(torch.equal(point, other) for other in points)


def _all_points(box: Box) -> Tensor | None:
    """All points (n, d) of a small finite space, None for any other."""
    discrete = box.discrete
    number = math.prod(len(options) for _, options in discrete)
    if box.continuous or number > _MOST or not all(arc.isolated for arc in box.arcs):
        return None
    points = torch.zeros(number, box.dimension, dtype=torch.float64)
    for row, chosen in zip(points, itertools.product(*(o for _, o in discrete)), strict=True):
        for (columns, _), value in zip(discrete, chosen, strict=True):
            row[columns] = value
    return box.active(points).unique(dim=0) if box.arcs else points

"""Points that stand for all of a space."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from surefoot.spaces.arms import Arms
from surefoot.spaces.box import Box
from surefoot.spaces.regions import with_fixed

_FILLING, _SURROUNDING = 2048, 512
_REACH = (0.1, 0.03, 0.01)  # of those that surround one, in the unit cube


LISTED = 1024  # configurations of a small finite space


def every_point(box: Box, most: int) -> Tensor | None:
    """All points of a finite box, where its rules hold.

    Args:
        box: The box.
        most: Largest number of combinations of its variables.

    Returns:
        Points (n, d); None if there are infinitely many, or more than `most`.
    """
    discrete = box.discrete
    number = math.prod(len(options) for _, options in discrete)
    if box.continuous or number > most or not all(arc.isolated for arc in box.arcs):
        return None
    points = with_fixed(torch.zeros(number, box.dimension, dtype=torch.float64), box.fixed)
    chosen = torch.cartesian_prod(
        torch.arange(1), *(torch.arange(len(options)) for _, options in discrete)
    ).reshape(number, -1)[:, 1:]
    for (columns, options), rows in zip(discrete, chosen.T, strict=True):
        points[:, columns] = options[rows]
    points = box.active(points).unique(dim=0) if box.arcs else points
    return points[box.allows(points)]


def filling(space: Arms | Box, at: Tensor, generator: torch.Generator) -> Tensor:
    """Designs (n, dx) that fill a space and surround one (1, dx); all arms."""
    if isinstance(space, Arms):
        return space.points.cpu()
    points = space.sample(_FILLING, generator)
    reach = torch.tensor(_REACH, dtype=torch.float64).repeat_interleave(_SURROUNDING // 3)[:, None]
    noise = torch.randn(len(reach), at.shape[1], dtype=torch.float64, generator=generator)
    return torch.cat([points.cpu(), space.snap(at + reach * noise * space.span).cpu()])

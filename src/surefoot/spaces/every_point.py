"""All points of a small finite box."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from surefoot.spaces.box import Box
from surefoot.spaces.regions import with_fixed


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

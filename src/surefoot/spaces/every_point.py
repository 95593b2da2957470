"""All points of a small finite box."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from surefoot.spaces.box import Box


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
    points = torch.zeros(number, box.dimension, dtype=torch.float64)
    chosen = torch.cartesian_prod(*(torch.arange(len(options)) for _, options in discrete))
    for (columns, options), rows in zip(discrete, chosen.reshape(number, -1).T, strict=True):
        points[:, columns] = options[rows]
    points = box.active(points).unique(dim=0) if box.arcs else points
    return points[box.allows(points)]

"""Search among small changes of good points, where a space has many variables."""

from __future__ import annotations

import torch
from torch import Tensor

from surefoot.spaces import Box

_CANDIDATES = 2048
_CHANGED = 4.0  # variables of a candidate that differ from its anchor, on average
_REACHES = (0.01, 0.3)  # standard deviations of a step, of the box
_ANYWHERE = 0.5  # share of the changes that are to any value instead


def neighbors(box: Box, anchors: Tensor, generator: torch.Generator) -> Tensor:
    """The anchors, and points that differ from one of them in a few variables.

    In many dimensions the maximiser of an upper confidence bound is a corner far from all data,
    where the posterior is the prior, and a search that follows it never returns. Changes of a few
    variables stay where the data say something, and need no gradients.

    Args:
        box: The space.
        anchors: Points (a, d) of the space.
        generator: Source of randomness.

    Returns:
        Points (n, d) of the space.

    References:
        Regis and Shoemaker 2013, "Combining radial basis function surrogates and dynamic
        coordinate search in high-dimensional expensive black-box optimization"; Hutter et al.
        2011 (SMAC), Section 4.3.
    """

    def uniform(*shape: int) -> Tensor:
        drawn = torch.rand(*shape, dtype=torch.float64, generator=generator)
        return drawn.to(anchors.device)

    number, variables = _CANDIDATES, box.variables
    base = anchors[torch.randint(len(anchors), (number,), generator=generator)]
    base = box.activated(base, generator)
    changed = uniform(number, len(variables)) < _CHANGED / len(variables)
    changed[torch.arange(number), (uniform(number) * len(variables)).long()] = True
    anywhere = uniform(number, len(variables)) < _ANYWHERE
    low, high = _REACHES
    reach = low * (high / low) ** uniform(number, 1)
    step = torch.randn(number, box.dimension, dtype=torch.float64, generator=generator)
    near = base + reach * box.span * step.to(anchors.device)
    far = box.stretched(uniform(number, box.dimension))
    points = base.clone()
    for variable, columns in enumerate(variables):
        category = tuple(columns) in box.choices  # of which no value is near
        moved = torch.where(
            anywhere[:, variable, None] | category, far[:, columns], near[:, columns]
        )
        points[:, columns] = torch.where(changed[:, variable, None], moved, base[:, columns])
    return torch.cat([anchors, box.snap(points)])

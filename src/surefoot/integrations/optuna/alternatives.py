"""Points to measure in place of one that another worker is measuring."""

from __future__ import annotations

import torch
from torch import Tensor

from surefoot.integrations.optuna.encoding import Encoding
from surefoot.spaces import Box
from surefoot.spaces.every_point import every_point

LISTED = 1024  # configurations of a small finite space


def alternatives(
    encoding: Encoding, box: Box, point: Tensor, taken: list[Tensor], generator: torch.Generator
) -> Tensor:
    """Points (n, d) that are none of those taken, from all that can be chosen and around a point.

    Args:
        encoding: Encoding of the search space.
        box: The part of the encoded space that can be chosen.
        point: The point (d,) that is to be replaced.
        taken: Points (d,) that are being measured, rounded to what can be measured.
        generator: Source of all randomness.

    Returns:
        All points of a small finite space that are not taken, otherwise random ones; none (0, d)
        if every point is taken.
    """
    candidates = every_point(box, LISTED)
    if candidates is None:
        number = LISTED // 4
        drawn = box.sample(number, generator)
        reach = torch.logspace(-0.5, -2.0, number)[:, None]
        noise = torch.randn(len(reach), box.dimension, dtype=torch.float64, generator=generator)
        candidates = torch.cat([drawn, box.snap(point + reach * noise)])
    free = [
        one
        for one in candidates
        if not is_any_of(encoding.rounded(one), taken)
        and not any(box.alike(one, other) for other in taken)
    ]
    return torch.stack(free) if free else candidates[:0]


def is_any_of(point: Tensor, points: list[Tensor]) -> bool:
    """Whether a point (d,) is one of several."""
    return any(torch.equal(point, other) for other in points)

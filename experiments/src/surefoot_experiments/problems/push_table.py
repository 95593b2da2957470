"""Robot pushing from a table: thousands of pushes a millisecond instead of one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from scipy.interpolate import RegularGridInterpolator
from torch import Tensor

from surefoot_experiments.problems.robot_pushing import CONTACT, push

AWAY = (CONTACT - 1e-6, math.hypot(6.0, 6.0))  # from contact to a hand moved beyond its corner
DURATION = (1.0, 30.0)
_NODES = (37, 59)


@dataclass(frozen=True)
class TabulatedPush:
    """`RobotPushing`, for goal (gx, gy), interpolated between pushes of a grid.

    A push moves the disc straight away from the hand, by a distance that depends on the hand's
    distance and the duration alone, of which 37 x 59 are simulated (once a process, in about two
    seconds). Between them it is linear. A place is off by 0.005 (root mean square), less than the
    simulation's time steps move it. For hands up to (6, 6) away and durations from 1 to 30.
    """

    goal: tuple[float, float]

    def __call__(
        self,
        points: Tensor,  # (n, 3)
    ) -> Tensor:  # (n,)
        """Minus the distance to the goal, for rx, ry and duration."""
        hand, duration = points[:, :2], points[:, 2]
        away = hand.norm(dim=-1)
        where = torch.stack([away.clamp(*AWAY), duration.clamp(*DURATION)], -1)
        distance = torch.from_numpy(_table()(where.numpy()))
        backward = hand / away.clamp_min(1e-12).unsqueeze(-1)
        place = -backward * distance.unsqueeze(-1)
        return -(place - place.new_tensor(self.goal)).norm(dim=-1)


@cache
def _table() -> RegularGridInterpolator:
    """How far the disc goes, for the hand's distance and the duration."""
    axes = [np.linspace(*ends, n) for ends, n in zip((AWAY, DURATION), _NODES, strict=True)]
    distances = [[push(-away, 0.0, duration)[0] for duration in axes[1]] for away in axes[0]]
    return RegularGridInterpolator(tuple(axes), np.array(distances))

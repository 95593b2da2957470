"""Prior mean from earlier measurements of a related system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal import checks
from surefoot._internal.linalg import cholesky
from surefoot._internal.tensors import NO_ROWS, NO_VALUES
from surefoot.hyperparameters.training_data import MOST_FITTED, TrainingData
from surefoot.spaces import Box
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from surefoot.hyperparameters.fitted import Fitted

_LEAST = 2  # measurements of an earlier function


@dataclass(frozen=True, eq=False)
class Earlier:
    """Measurements of a related system, and the function that they determine.

    Args:
        points: Points (k, d) of the same space, one for each reward.
        rewards: Rewards (k,), in the same direction; their units may be others.
        lower: Lower bounds (d,) of the space.
        span: Extents (d,) of the space.
        groups: Coordinates that share a lengthscale, see `TrainingData`.
    """

    points: Tensor
    rewards: Tensor
    lower: Tensor
    span: Tensor
    groups: Sequence[Sequence[int]] = ()

    def mean(self, points: Tensor) -> Tensor:
        """Posterior mean (n,) of the earlier function at points (n, d), differentiable."""
        fitted, solved = self._solved
        values = kernels.block(fitted.kernel, points, self.points.to(points)) @ solved.to(points)
        return fitted.center + fitted.scale * values

    @cached_property
    def _solved(self) -> tuple[Fitted, Tensor]:
        """Hyperparameters fitted to these rewards, and the coefficients (k,) of the mean."""
        from surefoot.hyperparameters.student_t_fit import HyperparameterFit

        data = TrainingData(self.points, self.rewards, self.lower, self.span, self.groups)
        fitted = HyperparameterFit(effects=()).fit(data)
        with torch.no_grad():
            covariance = kernels.block(fitted.kernel, self.points, self.points)
            root = cholesky(covariance + torch.diag(fitted.noise / fitted.weights))
            y = ((self.rewards - fitted.center) / fitted.scale).unsqueeze(-1)
            return fitted, torch.cholesky_solve(y, root)[:, 0]


def earlier_on(space: Box, points: Tensor, rewards: Tensor) -> Earlier:
    """Measurements (k,) of a related system at points (k, d) of a box.

    Raises:
        InvalidInput: If there are fewer than two, points are not of the box, or a value is not
            finite.
    """
    x = checks.matrix("prior", points, space.lower.device)
    y = checks.vector("prior", rewards, len(x))
    if len(y) < _LEAST:
        raise InvalidInput(
            f"`prior` has {len(y)} measurements, expected at least {_LEAST} of a related system."
        )
    if x.shape[1] != space.dimension:
        raise InvalidInput(
            f"`prior` has {x.shape[1]} coordinates, expected the {space.dimension} of the space."
        )
    kept = torch.linspace(0, len(y) - 1, min(len(y), MOST_FITTED)).round().long()
    span = space.upper - space.lower
    return Earlier(x[kept], y[kept], space.lower, span, space.shared)


NOTHING_EARLIER = Earlier(NO_ROWS, NO_VALUES, NO_VALUES, NO_VALUES)
"""No earlier measurements."""


@dataclass(frozen=True, eq=False)
class Trend:
    """Prior mean of the function beside its constant: a multiple of the earlier one.

    Args:
        slope: The multiple; 0 for none.
        earlier: The earlier measurements.
    """

    slope: float = 0.0
    earlier: Earlier = NOTHING_EARLIER

    @property
    def is_none(self) -> bool:
        """Whether there is none."""
        return self.slope == 0.0

    def __call__(self, points: Tensor) -> Tensor:
        """Values (n,) at points (n, d), in reward units."""
        return self.slope * self.earlier.mean(points)


NO_TREND = Trend()
"""No prior mean beside the constant."""

"""Prior mean from earlier measurements of a related system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal import checks
from surefoot._internal.tensors import NO_ROWS, NO_VALUES
from surefoot.hyperparameters.training_data import MOST_FITTED, TrainingData
from surefoot.regression.posterior import no_trend
from surefoot.spaces import Box
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_LEAST = 2  # measurements of an earlier function


@dataclass(frozen=True, eq=False)
class Earlier:
    """Measurements of a related system.

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

    @property
    def data(self) -> TrainingData:
        """The measurements, to fit hyperparameters to."""
        return TrainingData(self.points, self.rewards, self.lower, self.span, self.groups)


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
    return Earlier(x[kept], y[kept], space.lower, space.upper - space.lower, space.shared)


NOTHING_EARLIER = Earlier(NO_ROWS, NO_VALUES, NO_VALUES, NO_VALUES)
"""No earlier measurements."""


@dataclass(frozen=True)
class NoTrend:
    """No prior mean beside the constant."""

    is_none: ClassVar[bool] = True

    def __call__(self, points: Tensor) -> Tensor:
        """Zeros (n,) at points (n, d)."""
        return no_trend(points)


NO_TREND = NoTrend()


@dataclass(frozen=True, eq=False)
class Trend:
    """Prior mean of the function beside its constant: a multiple of an earlier posterior mean.

    Args:
        kernel: Prior covariance of the earlier function, in standardised units.
        points: Where it was measured (k, d).
        coefficients: Coefficients (k,) of its posterior mean.
        center: Its prior mean.
        scale: Unit of the standardised rewards.
        slope: The multiple, not 0.
    """

    kernel: Kernel
    points: Tensor
    coefficients: Tensor
    center: float
    scale: float
    slope: float = 1.0
    is_none: ClassVar[bool] = False

    def __call__(self, points: Tensor) -> Tensor:
        """Values (n,) at points (n, d), in reward units, differentiable."""
        covariance = kernels.block(self.kernel, points, self.points.to(points))
        return self.slope * (self.center + self.scale * (covariance @ self.coefficients.to(points)))

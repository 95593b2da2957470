"""Observations that hyperparameters are fitted to, with the space that they are from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from surefoot.regression.noise import NO_ERRORS
from surefoot.regression.observations import Conditions

_COLUMNS = ("points", "rewards", "sems", "workers", "times")
NO_WORKERS = torch.full((), -1)
MOST_FITTED = 500  # rewards that enter the ascent, and up to which other kernels do
MOST_TOGETHER = 1000  # rewards whose precisions are found together
NO_TIMES = torch.full((), torch.nan, dtype=torch.float64)


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Points and rewards, on the CPU: fits take many steps on small matrices.

    Args:
        points: Observed points (t, d), one for each reward.
        rewards: Rewards (t,), in reward units.
        lower: Lower bounds (d,) of the space.
        span: Extents (d,) of the space, above 0.
        groups: Coordinates that share a lengthscale, such as those of a category encoded one-hot,
            whose values are then all equally far apart; every other coordinate has its own.
        sems: Standard errors (t,) of the rewards, in reward units: known Gaussian errors beside
            the noise that is fitted.
        workers: Index (t,) of the worker that measured each reward, -1 where it is unknown.
        times: Time (t,) of each reward, in any unit, NaN where it is unknown.
        unfilled: Coordinates with further values between those that were measured.

    Example:
        >>> points = torch.tensor([[0.0, 4.0], [1.0, 2.0]])
        >>> data = TrainingData(points, torch.zeros(2), torch.zeros(2), torch.tensor([1.0, 4.0]))
        >>> data.unit.tolist(), data.group.tolist()
        ([[0.0, 1.0], [1.0, 0.5]], [0, 1])
        >>> data.at(torch.tensor([1])).unit.tolist()
        [[1.0, 0.5]]
    """

    points: Tensor
    rewards: Tensor
    lower: Tensor
    span: Tensor
    groups: Sequence[Sequence[int]] = ()
    sems: Tensor = NO_ERRORS
    workers: Tensor = NO_WORKERS
    times: Tensor = NO_TIMES
    unfilled: Sequence[int] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rewards", self.rewards.cpu())
        for name in ("sems", "workers", "times"):
            object.__setattr__(self, name, getattr(self, name).cpu().expand(len(self.rewards)))

    def at(self, rows: Tensor) -> TrainingData:
        """Some of the observations, by their indices (k,), in that order."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _COLUMNS})

    @cached_property
    def unit(self) -> Tensor:
        """The points (t, d) on the unit cube."""
        return ((self.points - self.lower) / self.span).cpu()

    @property
    def conditions(self) -> Conditions:
        """Under which the rewards were measured."""
        return Conditions(self.workers, self.times, self.unit)

    @cached_property
    def group(self) -> Tensor:
        """Index (d,) of the lengthscale of each coordinate."""
        first = list(range(len(self.span)))
        for group in self.groups:
            least = min(group)
            for coordinate in group:
                first[coordinate] = least
        return torch.unique(torch.tensor(first), return_inverse=True)[1]

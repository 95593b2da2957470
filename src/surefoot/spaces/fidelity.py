"""Levels of accuracy at which a measurement can be taken, and their costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.spaces.arms import Arms
from surefoot.spaces.box import Box, as_space
from surefoot.spaces.finite_environment import FiniteEnvironment
from surefoot.spaces.joint import Joint
from surefoot.types import InvalidInput


@dataclass(frozen=True)
class Fidelity:
    """Fidelities of a measurement: the last level counts, lower ones approximate it at less cost.

    Args:
        levels: Increasing numbers, such as the seconds that a benchmark runs.
        cost: Cost of a measurement at each level, in any unit.
        name: Of what they are levels, such as "seconds": by it a trial of a study records its own.

    Raises:
        InvalidInput: If there are fewer than two levels, they do not increase, or costs are not
            positive numbers, one for each level, or the name is empty.

    Example:
        >>> import surefoot as sf
        >>> fidelity = sf.Fidelity([5, 30, 120], cost=[5, 30, 120])
        >>> problem = sf.Problem(sf.Box([0.0], [1.0]), fidelity=fidelity)
        >>> optimizer = sf.algorithms.robust_ucb(problem)
        >>> for _ in range(3):
        ...     query = optimizer.ask()
        ...     seconds = float(query.environment)
        ...     info = optimizer.tell(query, float(query.point) - 1 / seconds)
        >>> best = optimizer.recommend()  # for a run of 120 seconds
    """

    levels: Sequence[float]
    cost: Sequence[float]
    name: str = "fidelity"

    def __post_init__(self) -> None:
        levels = checks.vector("levels", self.levels)
        if len(levels) < 2 or not bool((levels.diff() > 0.0).all()):
            raise InvalidInput(
                f"`levels` is {checks.shown(self.levels)}, expected two or more increasing "
                "numbers, of which the last counts."
            )
        cost = checks.vector("cost", self.cost)
        if len(cost) != len(levels):
            raise InvalidInput(
                f"{len(cost)} numbers of `cost` came with {len(levels)} `levels`, expected one "
                "for each."
            )
        if not float(cost.min()) > 0.0:
            raise InvalidInput(f"`cost` is {checks.shown(self.cost)}, expected numbers above 0.")
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInput(f"`name` is {checks.shown(self.name)}, expected a name.")
        object.__setattr__(self, "levels", tuple(levels.tolist()))
        object.__setattr__(self, "cost", tuple(cost.tolist()))

    @property
    def environment(self) -> FiniteEnvironment:
        """The levels as an environment whose risk is the value at the last one."""
        return FiniteEnvironment(self.levels, [0.0] * (len(self.levels) - 1) + [1.0])

    def of(self, space: Arms | Box) -> Joint:
        """The space of designs with a level each.

        Raises:
            InvalidInput: If the designs are arms without coordinates.
        """
        if not as_space(space).has_coordinates:
            raise InvalidInput(
                "a fidelity came with `Arms` without coordinates, expected points: pass "
                "`Arms(points)` with their coordinates."
            )
        return Joint(space, self.environment, perturbation=Ranked(tuple(self.levels)))


@dataclass(frozen=True)
class Ranked:
    """Model inputs of designs and levels: levels are as far apart as their ranks.

    Args:
        levels: The levels, increasing.
    """

    levels: tuple[float, ...]

    def __call__(self, x: Tensor, z: Tensor) -> Tensor:
        """Inputs (n, dx + 1) of designs (n, dx) at levels (n, 1)."""
        known = torch.tensor(self.levels, dtype=z.dtype, device=z.device)
        rank = (z - known).abs().argmin(-1, keepdim=True)
        return torch.cat([x, rank.to(x) / (len(known) - 1)], -1)

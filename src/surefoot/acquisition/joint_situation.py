"""What a choice of design and environment may depend on, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from surefoot.acquisition.policy import Score
from surefoot.regression.posterior import Posterior
from surefoot.risks import Risk, WorstCase
from surefoot.spaces import FiniteEnvironment, Joint

_ROOM = 2**27  # numbers in the largest array, 1 GiB


class Bounds(NamedTuple):
    """Mean, lower and upper bound (n, m) of the function for designs and environments."""

    mean: Tensor
    lower: Tensor
    upper: Tensor


@dataclass(frozen=True, eq=False)
class JointSituation:
    """The posterior, the width beta, and what was measured so far.

    `designs` (D, dx) are those measured, `sites` (S, d) the points that the model sees of them and
    of what is under way.
    """

    joint: Joint
    risk: Risk
    posterior: Posterior
    width: float
    designs: Tensor
    sites: Tensor
    generator: torch.Generator
    round: int
    feasible: Score | None = None  # probability that a measurement does not fail

    def values(
        self, number: int, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        """Values of Z (m, dz) with weights (m,): all there are, or so many that fill a density."""
        z, weights = self.joint.environment.values(
            number, generator or self.generator, isinstance(self.risk, WorstCase)
        )
        device = self.designs.device
        return z.to(device), weights.to(device)

    def bounds(self, x: Tensor, z: Tensor) -> Bounds:
        """Bounds for every design (n, dx) with every z (m, dz), differentiable in both."""
        return self._bounds(self.joint.points(x, z).flatten(0, 1), len(x))

    def is_whole(self, z: Tensor) -> bool:
        """Whether these (m, dz) are all values of a finite environment."""
        environment = self.joint.environment
        return isinstance(environment, FiniteEnvironment) and len(environment) == len(z)

    def all_bounds(self) -> Bounds:
        """Bounds for every pair of a design and an environment that are both finite."""
        points = self.joint.seen.points  # type: ignore[union-attr]
        return self._bounds(points, len(points) // len(self.joint.environment))  # type: ignore[arg-type]

    def in_parts(self, x: Tensor, others: int) -> tuple[Tensor, ...]:
        """Designs in parts so small that no array of them, `others` z's and the data is large."""
        each = others * max(self.posterior.embedding.dimension, 1)
        return x.split(max(1, _ROOM // (4 * each)))

    def _bounds(self, points: Tensor, rows: int) -> Bounds:
        mean, deviation = self.posterior.mean_and_deviation(points)
        reach = self.width * deviation
        bounds = mean, mean - reach, mean + reach
        if self.feasible is not None:  # a failure counts as the lowest lower bound of any site
            worst_mean, worst_deviation = self.posterior.mean_and_deviation(self.sites)
            worst = (worst_mean - self.width * worst_deviation).min()
            chance = self.feasible(points)
            bounds = tuple(chance * bound + (1.0 - chance) * worst for bound in bounds)  # type: ignore[assignment]
        return Bounds(*(bound.reshape(rows, -1) for bound in bounds))


@runtime_checkable
class JointPolicy(Protocol):
    """Chooses a design (dx,) of those allowed, and an environment (dz,) to measure it under."""

    def check(self, joint: Joint, risk: Risk) -> None:
        """`InvalidInput` where this policy cannot work on them."""
        ...

    def choose(
        self, situation: JointSituation, among: Tensor | None
    ) -> tuple[Tensor, int | None, Tensor]:
        """The design, its arm if it is one, and the environment.

        `among` are the only designs (n, dx) to choose from, where not all of them are.
        """
        ...

"""Functions of several valleys: how often a recommendation is at another than the deepest.

Each valley is a Gaussian, and the function is the lowest of them at a point, so that the value at
the bottom of each is exactly its depth. Positions are random and differ between instances.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from surefoot_experiments.problems.noise import kinds_of_noise
from surefoot_experiments.scoreboard.space import Point, box
from surefoot_experiments.scoreboard.task import (
    CONFIRMATION,
    DEVELOPMENT,
    GAP,
    WRONG,
    Task,
    budgets,
    quarters,
)

SUITE = "multimodal"
BUDGET = 60
INSTANCES = range(1, 11)
PLAIN = 43.0  # the value far from all valleys
LOG_NORMAL = "log-normal"
_APART = 0.4  # least distance of two minima, within [0.1, 0.9]^d
_SCALE = 1.15  # a twentieth of the depth of the deepest valley
_NOISES = kinds_of_noise(_SCALE)


@dataclass(frozen=True)
class Family:
    """Depths and widths of valleys in the unit cube, the deepest first."""

    name: str
    dimension: int
    depths: tuple[float, ...]
    widths: tuple[float, ...]


FAMILIES = (
    Family("two-valleys", 2, (23.0, 10.0), (0.15, 0.25)),
    Family("five-valleys", 3, (23.0, 14.0, 12.0, 10.0, 8.0), (0.2, 0.25, 0.2, 0.25, 0.2)),
)


@dataclass(frozen=True)
class Valleys:
    """A function to minimise.

    Args:
        family: Depths and widths.
        instance: Determines the positions.
        kind: The noise: "gaussian", "student-t", "spikes" or "pareto", which are added, or
            "log-normal", by which the value is multiplied.
    """

    family: Family
    instance: int
    kind: str

    @cached_property
    def minima(self) -> np.ndarray:  # (k, d)
        """Where the valleys are."""
        generator = np.random.default_rng([self.instance, len(self.family.depths)])
        found: list[np.ndarray] = []
        while len(found) < len(self.family.depths):
            point = generator.uniform(0.1, 0.9, self.family.dimension)
            if all(np.linalg.norm(point - each) >= _APART for each in found):
                found.append(point)
        return np.array(found)

    def value(self, x: np.ndarray) -> float:
        """The function without noise, at a point (d,)."""
        distances = ((self.minima - x) ** 2).sum(1)
        shapes = np.exp(-0.5 * distances / np.square(self.family.widths))
        return float(PLAIN - (self.family.depths * shapes).max())

    def measure(self, point: Point, generator: np.random.Generator) -> float:
        """A noisy measurement."""
        value = self.value(_row(point))
        if self.kind == LOG_NORMAL:
            return value * math.exp(0.4 * generator.standard_normal())
        return value + float(_NOISES[self.kind].sample(1, generator)[0])

    def score(self, point: Point) -> dict[str, float]:
        """The gap to the deepest minimum, and whether it exceeds half of the second's."""
        best, second = self.family.depths[:2]
        gap = self.value(_row(point)) - (PLAIN - best)
        return {GAP: gap, WRONG: float(gap > 0.5 * (best - second))}


def tasks(evaluations: Sequence[str] = ()) -> list[Task]:
    """Both families under five kinds of noise, ten instances each; odd ones are for development.

    Args:
        evaluations: Numbers of measurements; 60, looked at after 40 too, if none is given.
    """
    return [
        Task(
            suite=SUITE,
            name=f"{family.name}-{kind}-i{instance}",
            kind=kind,
            half=DEVELOPMENT if instance % 2 else CONFIRMATION,
            space=box([0.0] * family.dimension, [1.0] * family.dimension),
            budget=budget,
            checkpoints=(40, 60) if budget == BUDGET else quarters(budget),
            load=partial(Valleys, family, instance, kind),
        )
        for instance in INSTANCES
        for kind in (*_NOISES, LOG_NORMAL)
        for family in FAMILIES
        for budget in budgets(evaluations or [str(BUDGET)], family.dimension)
    ]


def _row(point: Point) -> np.ndarray:  # (d,)
    return np.array([float(value) for value in point.values()])

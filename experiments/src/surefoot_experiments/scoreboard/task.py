"""A task of the scoreboard: a space, noisy measurements, and the score of a recommendation."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from surefoot import InvalidInput
from surefoot_experiments.scoreboard.space import Point, Space

DEVELOPMENT, CONFIRMATION = "development", "confirmation"
HALVES = (DEVELOPMENT, CONFIRMATION)
GAP = "gap"
WRONG = "wrong"  # whether the recommendation is at another minimum than the lowest
COVERED = "covered"  # whether a predicted 95 % interval holds the median of measurements


class Objective(Protocol):
    """What is minimised."""

    def measure(self, point: Point, generator: np.random.Generator) -> float:
        """A noisy measurement, NaN for a crash. Draws the same numbers at every point."""

    def score(self, point: Point) -> Mapping[str, float]:
        """The gap of a point to the optimum, and what else is scored, by name."""


@dataclass(frozen=True)
class Task:
    """A problem and a number of measurements; objectives are minimised.

    Args:
        suite: Name of the suite.
        name: Name within the suite.
        kind: What tasks are grouped by: the kind of noise, or the system.
        half: `DEVELOPMENT` if defaults may be chosen by it, `CONFIRMATION` otherwise.
        space: Search space.
        budget: Number of measurements.
        checkpoints: Numbers of measurements after which a recommendation is scored.
        load: Builds the objective, in the process that needs it.
    """

    suite: str
    name: str
    kind: str
    half: str
    space: Space
    budget: int
    checkpoints: tuple[int, ...]
    load: Callable[[], Objective]

    @property
    def key(self) -> str:
        """Suite, name and budget."""
        return f"{self.suite}/{self.name}/{self.budget}"

    @property
    def dimension(self) -> int:
        """The number of parameters."""
        return len(self.space.parameters)


def median_at(objective: Objective, point: Point) -> float:
    """The median of 1,001 measurements at a point, those that crash left out."""
    generator = np.random.default_rng(0)
    return float(np.nanmedian([objective.measure(point, generator) for _ in range(1001)]))


def noise(task: Task, seed: int, round_: int) -> np.random.Generator:
    """The random numbers of a round, the same for every rival and every budget."""
    name = zlib.crc32(f"{task.suite}/{task.name}".encode())
    return np.random.default_rng([seed, round_, name])


def quarters(budget: int) -> tuple[int, ...]:
    """A quarter, half and all of a budget."""
    return tuple(sorted({max(1, budget // 4), max(1, budget // 2), budget}))


def budgets(evaluations: Sequence[str], dimension: int) -> list[int]:
    """The different numbers of measurements that texts such as "60" and "100d" stand for.

    Args:
        evaluations: The texts; "100d" is a hundred for each parameter.
        dimension: The number of parameters.

    Raises:
        InvalidInput: A text is no such number.
    """
    return list(dict.fromkeys(_budget(text, dimension) for text in evaluations))


def _budget(text: str, dimension: int) -> int:
    digits = text.removesuffix("d")
    if not digits.isdecimal() or int(digits) < 1:
        raise InvalidInput(f"`evaluations` has {text!r}, expected a number such as 60 or 100d.")
    return int(digits) * (dimension if text.endswith("d") else 1)

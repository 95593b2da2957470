"""Our own twelve tasks, on which the default was developed; kept for continuity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import torch

from surefoot_experiments.problems import Problem, robust_tasks
from surefoot_experiments.scoreboard.space import Point, box
from surefoot_experiments.scoreboard.task import DEVELOPMENT, GAP, Task, budgets, quarters

SUITE = "own"
BUDGET = 60


@dataclass(frozen=True)
class Negated:
    """A problem as a function to minimise."""

    name: str

    def measure(self, point: Point, generator: np.random.Generator) -> float:
        """A noisy measurement."""
        return -float(_problem(self.name).measure(_row(point), generator))

    def score(self, point: Point) -> dict[str, float]:
        """The regret, in standard deviations of the function over its box."""
        return {GAP: float(_problem(self.name).regret(_row(point)))}


def tasks(evaluations: Sequence[str] = ()) -> list[Task]:
    """The twelve tasks, all of them of the development half.

    Args:
        evaluations: Numbers of measurements; 60 if none is given.
    """
    return [
        Task(
            suite=SUITE,
            name=problem.name.replace("/", "-"),
            kind=problem.name.partition("/")[2],
            half=DEVELOPMENT,
            space=box(problem.lower.tolist(), problem.upper.tolist()),
            budget=budget,
            checkpoints=quarters(budget),
            load=partial(Negated, problem.name),
        )
        for problem in robust_tasks()
        for budget in budgets(evaluations or [str(BUDGET)], problem.lower.numel())
    ]


@cache
def _problem(name: str) -> Problem:
    return next(each for each in robust_tasks() if each.name == name)


def _row(point: Point) -> torch.Tensor:  # (1, d)
    return torch.tensor([[float(value) for value in point.values()]], dtype=torch.float64)

"""Functions that jump: how often a recommendation is on the wrong side of the jump.

The first parameter has an edge above which the value is lower by hundreds of deviations of the
noise, as the memory of a program is by an encoding; the best value is next to the edge, and the
other parameters change it smoothly. Edges and minima are random and differ between problems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from surefoot_experiments.scoreboard.space import Float, Integer, Parameter, Point, Space
from surefoot_experiments.scoreboard.task import (
    CONFIRMATION,
    DEVELOPMENT,
    GAP,
    WRONG,
    Task,
    budgets,
    quarters,
)

SUITE = "steps"
BUDGET = 40
PROBLEMS = range(1, 11)
KIND = "jump"
JUMP = 6.54
NOISE = 0.01  # standard deviation
_LEVELS = 16  # of an integer
_CHOICES = 5  # of an ordered choice


@dataclass(frozen=True)
class Jump:
    """A function to minimise, of 1 to 6 parameters.

    Real numbers, integers and ordered choices take turns, and which comes first differs.

    Args:
        problem: Number of the problem, which determines edge, minima and parameters.
    """

    problem: int

    @property
    def dimension(self) -> int:
        """The number of parameters."""
        return 1 + (self.problem - 1) % 6

    @cached_property
    def space(self) -> Space:
        """Its parameters, of which the first has the edge."""
        kinds: tuple[Parameter, ...] = tuple(
            (
                Float(f"x{at}", 0.0, 1.0),
                Integer(f"x{at}", 1, _LEVELS),
                Integer(f"x{at}", 0, _CHOICES - 1),
            )[(self.problem - 1 + at) % 3]
            for at in range(self.dimension)
        )
        return Space(kinds)

    @cached_property
    def centers(self) -> np.ndarray:  # (d,)
        """The edge, and where the function is least in the other parameters, within [0, 1]."""
        generator = np.random.default_rng(self.problem)
        edge, *others = generator.uniform(0.5, 0.9), *generator.random(self.dimension - 1)
        return np.array([edge, *others])

    def value(self, point: Point) -> float:
        """The function without noise."""
        return sum(self._part(at, share) for at, share in enumerate(self._shares(point)))

    def measure(self, point: Point, generator: np.random.Generator) -> float:
        """A noisy measurement."""
        return self.value(point) + NOISE * float(generator.standard_normal())

    def score(self, point: Point) -> dict[str, float]:
        """The gap to the least value, and whether it exceeds half of the jump."""
        gap = self.value(point) - self.least
        return {GAP: gap, WRONG: float(gap > 0.5 * JUMP)}

    @cached_property
    def least(self) -> float:
        """The least value, which is approached but not reached where the edge is between reals."""
        return sum(
            min(self._part(at, share) for share in self._possible(at))
            for at in range(self.dimension)
        )

    def _part(self, at: int, share: float) -> float:
        """What a parameter contributes at a share of its range."""
        center = float(self.centers[at])
        return share + JUMP * (share <= center) if at == 0 else (share - center) ** 2

    def _shares(self, point: Point) -> list[float]:
        return [
            (float(point[one.name]) - one.low) / (one.high - one.low)
            for one in self.space.parameters
            if isinstance(one, Float | Integer)
        ]

    def _possible(self, at: int) -> list[float]:
        """Shares of its range, among which a parameter has its least contribution."""
        one = self.space.parameters[at]
        if isinstance(one, Integer):
            return np.linspace(0.0, 1.0, one.high - one.low + 1).tolist()
        return [float(np.nextafter(self.centers[at], 1.0)) if at == 0 else float(self.centers[at])]


def tasks(evaluations: Sequence[str] = ()) -> list[Task]:
    """Ten problems; odd ones are for development.

    Args:
        evaluations: Numbers of measurements; 40, looked at after 20 too, if none is given.
    """
    return [
        Task(
            suite=SUITE,
            name=f"{KIND}-{problem}",
            kind=KIND,
            half=DEVELOPMENT if problem % 2 else CONFIRMATION,
            space=Jump(problem).space,
            budget=budget,
            checkpoints=(20, 40) if budget == BUDGET else quarters(budget),
            load=partial(Jump, problem),
        )
        for problem in PROBLEMS
        for budget in budgets(evaluations or [str(BUDGET)], Jump(problem).dimension)
    ]

"""SimOpt's continuous problems with bounds: simulations whose noise is ordinary.

A measurement is the mean of ten replications. Gaps are of the mean of many replications with the
same random numbers at every point, in standard deviations of that mean over the box; the optimum is
the best that a search found.

References:
    Eckman, Henderson, Shashaani, "SimOpt: A testbed for simulation-optimization experiments",
    INFORMS Journal on Computing 35(2), 2023.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial

import joblib
import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from surefoot import InvalidInput
from surefoot_experiments.scoreboard.environments import build_line, python_of
from surefoot_experiments.scoreboard.process import JsonProcess
from surefoot_experiments.scoreboard.space import Point, Space, box
from surefoot_experiments.scoreboard.suites.cloud import CACHE
from surefoot_experiments.scoreboard.task import GAP, HALVES, Task, budgets, quarters

SUITE = "simopt"
ENVIRONMENT = "simopt"
BUDGET = 60
REPLICATIONS = 10  # of a measurement
_LIMIT = 600.0  # seconds for a request
_TRUTH, _NOISE = 1, 2  # streams of random numbers
_SPREAD, _STARTS, _STEPS = 6, 3, 60  # 2^6 points over the box, from the best of which is searched


@dataclass(frozen=True)
class Problem:
    """A problem of SimOpt.

    Args:
        name: SimOpt's name.
        low: Lower bounds; SimOpt's own where it has some.
        high: Upper bounds; SimOpt's own where it has some.
        exact: Replications from which a point is scored.
    """

    name: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    exact: int = 400

    @property
    def space(self) -> Space:
        """The box."""
        return box(self.low, self.high)


PROBLEMS = (
    Problem("AMBULANCE-1", (0.0,) * 4, (20.0,) * 4, 50),
    Problem("CNTNEWS-1", (0.0,), (10.0,)),
    Problem("DYNAMNEWS-1", (0.0,) * 10, (20.0,) * 10),
    Problem("FIXEDSAN-1", (0.01,) * 13, (20.0,) * 13),
    Problem("IRONORECONT-1", (0.0,) * 3, (200.0,) * 3, 100),
    Problem("MM1-1", (0.5,), (10.0,), 100),
    Problem("PARAMESTI-1", (0.1,) * 2, (10.0,) * 2),
    Problem("SAN-1", (0.01,) * 13, (20.0,) * 13),
    Problem("SSCONT-1", (1.0,) * 2, (2000.0,) * 2),
)


@dataclass(frozen=True)
class Simulation:
    """A problem as a function to minimise."""

    problem: Problem

    def measure(self, point: Point, generator: np.random.Generator) -> float:
        """The mean of ten replications."""
        first = int(generator.integers(2**20))
        return _mean(self.problem.name, _vector(point), REPLICATIONS, _NOISE, first)

    def score(self, point: Point) -> dict[str, float]:
        """The mean of many replications above the optimum, in standard deviations over the box."""
        best, scale = reference(self.problem)
        value = _mean(self.problem.name, _vector(point), self.problem.exact, _TRUTH, 0)
        return {GAP: (value - best) / scale}


def tasks(evaluations: Sequence[str] = ()) -> list[Task]:
    """A task for each problem; every second one is for confirmation.

    Args:
        evaluations: Numbers of measurements; 60 if none is given.
    """
    if python_of(ENVIRONMENT) is None:
        raise InvalidInput(f"the suite {SUITE} needs SimOpt: {build_line(ENVIRONMENT)}")
    return [
        Task(
            suite=SUITE,
            name=problem.name,
            kind=SUITE,
            half=HALVES[number % 2],
            space=problem.space,
            budget=budget,
            checkpoints=quarters(budget),
            load=partial(Simulation, problem),
        )
        for number, problem in enumerate(PROBLEMS)
        for budget in budgets(evaluations or [str(BUDGET)], len(problem.low))
    ]


@cache
def reference(problem: Problem) -> tuple[float, float]:
    """The smallest mean that a search found, and the standard deviation over the box."""
    memory = joblib.Memory(os.environ.get(CACHE, "scoreboard-cache"), verbose=0)
    found: tuple[float, float] = memory.cache(_searched)(problem)
    return found


def _searched(problem: Problem) -> tuple[float, float]:
    low, high = np.array(problem.low), np.array(problem.high)

    def value(cube: np.ndarray) -> float:
        x = low + (high - low) * np.clip(cube, 0.0, 1.0)
        return _mean(problem.name, x.tolist(), problem.exact, _TRUTH, 0)

    spread = qmc.Sobol(len(low), seed=0).random_base2(_SPREAD)
    values = np.array([value(each) for each in spread])
    options = {"maxfev": _STEPS * (len(low) + 1), "xatol": 1e-4, "fatol": 0.0}
    searches = [
        minimize(value, spread[i], method="Nelder-Mead", options=options).fun
        for i in values.argsort()[:_STARTS]
    ]
    return float(min([*searches, *values])), float(values.std())


def _mean(problem: str, x: Sequence[float], replications: int, stream: int, first: int) -> float:
    request = {"problem": problem, "x": list(x), "replications": replications}
    reply = _server().request({**request, "stream": stream, "first": first}, _LIMIT)
    return float(reply["value"])


@cache
def _server() -> JsonProcess:
    python = python_of(ENVIRONMENT)
    if python is None:
        raise InvalidInput(f"the suite {SUITE} needs SimOpt: {build_line(ENVIRONMENT)}")
    return JsonProcess(python, "suites.simopt_server")


def _vector(point: Point) -> list[float]:
    return [float(value) for value in point.values()]

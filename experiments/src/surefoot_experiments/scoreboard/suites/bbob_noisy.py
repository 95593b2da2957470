"""COCO's suite `bbob-noisy`: thirty functions under Gaussian, uniform and Cauchy noise.

The functions are COCO's own; the noise is drawn here, from its published definition, so that every
rival gets the same noise in the same round and recommendations are scored without noise.

References:
    Hansen, Finck, Ros, Auger, "Real-parameter black-box optimization benchmarking 2009: noisy
    functions definitions", INRIA RR-6869, 2009.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from surefoot import InvalidInput
from surefoot_experiments.scoreboard.space import Point, box
from surefoot_experiments.scoreboard.task import GAP, HALVES, Task, budgets, quarters

SUITE = "bbob-noisy"
FUNCTIONS = range(101, 131)
DIMENSIONS = (2, 5, 10)
INSTANCES = (1, 2, 3, 4, 5)
BUDGETS = ("60", "100d")
KINDS = ("gaussian", "uniform", "cauchy")
BOUND = 5.0
TOLERANCE = 1e-8
# Three functions each; the number is that of the noiseless function in COCO's suite `bbob`.
FAMILIES = (1, 8, 1, 8, 7, 10, 14, 17, 19, 21)
MODERATE = 6  # the first six functions have moderate noise
SIBLING = {1: 109, 8: 112, 7: 115, 10: 118, 14: 121, 17: 124, 19: 127, 21: 130}
CAUCHY_OFFSET = 1000.0

Noise = Callable[[float, np.random.Generator], float]  # of a value above the optimum


def gaussian(value: float, generator: np.random.Generator, beta: float) -> float:
    """The value times exp(beta N); beta is 0.01 or 1."""
    return value * float(np.exp(beta * generator.standard_normal()))


def uniform(value: float, generator: np.random.Generator, alpha: float, beta: float) -> float:
    """The value times U^beta max(1, (10^9 / value)^(alpha U'))."""
    first, second = generator.random(2)
    enlarged = (1e9 / (value + 1e-99)) ** (alpha * second)
    return float(value * first**beta * max(1.0, enlarged))


def cauchy(value: float, generator: np.random.Generator, alpha: float, share: float) -> float:
    """The value plus alpha max(0, 1000 + C), where C is Cauchy in a share of rounds and else 0."""
    numerator, denominator = generator.standard_normal(2)
    ratio = numerator / abs(denominator + 1e-199)
    extra = ratio if generator.random() < share else 0.0
    return value + alpha * max(0.0, CAUCHY_OFFSET + float(extra))


def noise_of(function: int, dimension: int) -> Noise:
    """The noise of a function, moderate or severe."""
    kind = KINDS[(function - 101) % 3]
    moderate = function < 101 + MODERATE
    weight = 0.01 if moderate else 1.0
    alpha = weight * (0.49 + 1.0 / dimension)
    laws: dict[str, Noise] = {
        "gaussian": partial(gaussian, beta=weight),
        "uniform": partial(uniform, alpha=alpha, beta=weight),
        "cauchy": partial(cauchy, alpha=weight, share=0.05 if moderate else 0.2),
    }
    return laws[kind]


@dataclass(frozen=True)
class Function:
    """A function of the suite; `value` is without noise, `optimum` its smallest value."""

    function: int
    dimension: int
    instance: int

    def measure(self, point: Point, generator: np.random.Generator) -> float:
        """A measurement with the published noise."""
        above = self._above(point)
        noisy = noise_of(self.function, self.dimension)(above, generator)
        # Noise vanishes at the optimum: COCO's implementation adds the tolerance to every value.
        return self.optimum + noisy + 1.01 * TOLERANCE

    def score(self, point: Point) -> dict[str, float]:
        """The noiseless value above the optimum."""
        return {GAP: self._above(point)}

    @property
    def family(self) -> int:
        """The noiseless function's number in the suite `bbob`."""
        return FAMILIES[(self.function - 101) // 3]

    @property
    def optimum(self) -> float:
        """The smallest value without noise."""
        return _optimum(self.family, self.dimension, self.instance)

    def value(self, x: Sequence[float]) -> float:
        """The function without noise.

        The function with severe Cauchy noise gives f + 1000 exactly in four evaluations of five,
        so the first value that comes twice is free of noise.
        """
        problem = _problem(SIBLING[self.family], self.dimension, self.instance)
        at, seen = np.asarray(x, dtype=float), set[float]()
        while (value := float(problem(at))) not in seen:
            seen.add(value)
        return value - CAUCHY_OFFSET - 1.01 * TOLERANCE

    def _above(self, point: Point) -> float:
        x = [float(point[f"x{i}"]) for i in range(self.dimension)]
        return max(self.value(x) - self.optimum, 0.0)


def tasks(evaluations: Sequence[str] = ()) -> list[Task]:
    """All tasks: thirty functions, three dimensions, five instances, each number of evaluations.

    Args:
        evaluations: Numbers of measurements; 60 and a hundred a dimension if none is given.
    """
    return [
        Task(
            suite=SUITE,
            name=f"f{function}-d{dimension}-i{instance}",
            kind=KINDS[(function - 101) % 3],
            half=HALVES[1 - instance % 2],  # odd ones are for development
            space=box([-BOUND] * dimension, [BOUND] * dimension),
            budget=budget,
            checkpoints=quarters(budget),
            load=partial(Function, function, dimension, instance),
        )
        for instance in INSTANCES
        for dimension in DIMENSIONS
        for budget in budgets(evaluations or BUDGETS, dimension)
        for function in FUNCTIONS
    ]


@cache
def _problem(function: int, dimension: int, instance: int) -> Any:
    return _suite().get_problem_by_function_dimension_instance(function, dimension, instance)


@cache
def _suite() -> Any:
    """COCO's suite, kept because its problems end with it."""
    options = f"dimensions: {','.join(map(str, DIMENSIONS))}"
    return _coco().Suite(SUITE, "instances: 1-5", options)


@cache
def _optimum(family: int, dimension: int, instance: int) -> float:
    return float(_coco().BareProblem("bbob", family, dimension, instance).best_value())


def _coco() -> Any:
    try:
        import cocoex
    except ImportError:
        raise InvalidInput(
            "the suite bbob-noisy needs coco-experiment; in a checkout of surefoot: "
            "pip install -e './experiments[scoreboard]'"
        ) from None
    return cocoex

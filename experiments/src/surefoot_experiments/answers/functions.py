"""Functions that the yardstick minimises, beside those of the scoreboard's suites."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np
import torch

from surefoot_experiments.problems import Gaussian, Noise, Problem, WideSpikes, synthetic
from surefoot_experiments.problems.noise import kinds_of_noise
from surefoot_experiments.scoreboard.space import (
    Categorical,
    Float,
    Integer,
    Parameter,
    Point,
    Space,
)
from surefoot_experiments.scoreboard.suites.bbob_noisy import noise_of
from surefoot_experiments.scoreboard.task import GAP

Law = Callable[[float, int, np.random.Generator], float]  # a measurement of a gap, of d coordinates
SCALE = 0.3  # of the noise, in standard deviations of the function
LOW = "low"
TIES = "ties"
WIDE = "wide"
_STEP = 0.25  # to which measurements with ties are rounded
_UNIT = 100.0  # bbob's functions have values of hundreds, with which its noise grows
_SEVERE = 107  # bbob's first function with severe noise; Gaussian, uniform and Cauchy take turns
_BEND = 0.5  # largest share of the square in the map of a coordinate


def _added(noise: Noise) -> Law:
    return lambda gap, dimension, generator: gap + float(noise.sample(1, generator)[0])


def _severe(number: int, gap: float, dimension: int, generator: np.random.Generator) -> float:
    return noise_of(number, dimension)(_UNIT * gap, generator) / _UNIT


def _rounded(gap: float, dimension: int, generator: np.random.Generator) -> float:
    return _STEP * round((gap + float(Gaussian(SCALE / 3).sample(1, generator)[0])) / _STEP)


LAWS: dict[str, Law] = {
    **{name: _added(noise) for name, noise in kinds_of_noise(SCALE).items()},
    LOW: _added(Gaussian(SCALE / 6)),
    WIDE: _added(WideSpikes(scale=SCALE)),
    TIES: _rounded,
    **{
        f"severe-{kind}": partial(_severe, _SEVERE + number)
        for number, kind in enumerate(("gaussian", "uniform", "cauchy"))
    },
}


@dataclass(frozen=True)
class Bent:
    """A test function on the unit cube, with a random smooth map of each coordinate.

    The map is monotone and may be turned round, so that each instance has its optimum elsewhere and
    the same least value.

    Args:
        name: Its name in BoTorch.
        dimension: Its number of coordinates, None if it has but one.
        law: The noise, a name of `LAWS`.
        instance: Determines the maps.
    """

    name: str
    dimension: int | None
    law: str
    instance: int

    def measure(self, point: Point, generator: np.random.Generator) -> float:
        """A noisy measurement."""
        return LAWS[self.law](self._gap(point), len(point), generator)

    def score(self, point: Point) -> dict[str, float]:
        """The gap to the least value, in standard deviations of the function that is bent."""
        return {GAP: self._gap(point)}

    def _gap(self, point: Point) -> float:
        share = np.array([float(value) for value in point.values()])
        problem = _problem(self.name, self.dimension)
        bend, turned = self._maps
        share = np.where(turned, 1.0 - share, share)
        share = (1.0 - bend) * share + bend * share**2
        x = problem.lower + (problem.upper - problem.lower) * torch.as_tensor(share)
        return max(float(problem.regret(x[None])), 0.0)

    @cached_property
    def _maps(self) -> tuple[np.ndarray, np.ndarray]:
        d = _problem(self.name, self.dimension).dimension
        generator = np.random.default_rng([self.instance, d])
        return generator.uniform(-_BEND, _BEND, d), generator.random(d) < 0.5


@cache
def _problem(name: str, dimension: int | None) -> Problem:
    return synthetic(name, dimension=dimension)


@dataclass(frozen=True)
class ManyKnobs:
    """A system of many mixed parameters, of which six matter, and which often crashes.

    A third of the parameters are real numbers, a third integers and a third categories. The loss is
    the sum of a square or a random level of each of the six. Configurations crash where one of the
    six and another number are both large, or another category has its first value: a quarter to a
    third of them.

    Args:
        dimension: The number of parameters, a multiple of three from twelve.
        instance: Determines which matter, their best values and what crashes.
    """

    dimension: int
    instance: int

    @cached_property
    def space(self) -> Space:
        """Its parameters, whose kinds take turns."""
        kinds: tuple[Parameter, ...] = tuple(
            (
                Float(f"x{at}", 0.0, 1.0),
                Integer(f"x{at}", 1, 4096, log=True),
                Categorical(f"x{at}", ("a", "b", "c", "d", "e")),
            )[at % 3]
            for at in range(self.dimension)
        )
        return Space(kinds)

    def measure(self, point: Point, generator: np.random.Generator) -> float:
        """A noisy measurement, NaN for a crash."""
        error = _NOISE * float(generator.standard_normal())
        return float("nan") if self.crashes(point) else self.value(point) + error

    def score(self, point: Point) -> dict[str, float]:
        """The value, which is least at zero; that of a crash is the largest of all."""
        crashes = self.crashes(point)
        worst = float(_MATTER)
        return {GAP: worst if crashes else self.value(point), "crashes": float(crashes)}

    def value(self, point: Point) -> float:
        """The loss without noise."""
        matter, centers, levels = self._truth
        shares = [self._share(point, at) for at in matter]
        squares = np.square(shares - centers)
        kinds = [self.space.parameters[at].kind for at in matter]
        parts = [
            levels[int(share)] if kind == Categorical.kind else square
            for share, square, kind in zip(shares, squares, kinds, strict=True)
        ]
        return float(np.sum(parts))

    def crashes(self, point: Point) -> bool:
        """Whether a configuration crashes."""
        first, second, category = self._causes
        large = self._share(point, first) > 0.8 and self._share(point, second) > 0.3
        return large or self._share(point, category) == 0.0

    def _share(self, point: Point, at: int) -> float:
        """The share of a number's range, or the index of a category."""
        one, value = self.space.parameters[at], point[f"x{at}"]
        if isinstance(one, Categorical):
            return float(one.choices.index(str(value)))
        return one.encode(value)[0]

    @cached_property
    def _truth(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which parameters matter, the best shares of numbers, and the levels of categories."""
        generator = np.random.default_rng([self.instance, self.dimension])
        groups = [np.arange(first, self.dimension, 3) for first in range(3)]
        matter = np.concatenate([generator.permutation(group)[:2] for group in groups])
        levels = 0.5 * generator.permutation(5) / 4.0
        return matter, generator.uniform(0.1, 0.75, _MATTER), levels

    @cached_property
    def _causes(self) -> tuple[int, int, int]:
        """Two numbers and a category, of which the first number matters."""
        matter = self._truth[0]
        generator = np.random.default_rng([self.instance, self.dimension, 1])
        others = [at for at in range(self.dimension) if at not in matter]
        numbers = [at for at in others if at % 3 < 2]
        categories = [at for at in others if at % 3 == 2]
        return int(matter[0]), int(generator.choice(numbers)), int(generator.choice(categories))


_MATTER = 6
_NOISE = 0.02

"""Models of given data: their error and intervals, and the rewards that they dismiss."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

import surefoot as sf
from surefoot_experiments.benchmarks.botorch_models import Data, Prediction, robust, single_task
from surefoot_experiments.harness.trial import Rows, Trial
from surefoot_experiments.problems import synthetic
from surefoot_experiments.scoreboard.task import CONFIRMATION, DEVELOPMENT, GAP

CLEAN, WITH_OUTLIERS = "given", "given-with-outliers"
NEAR = "given-near-optimum"  # where a search has measured half of them
GIVEN = "data-sets"  # the table of their rows, and the suite in their cases
DATA_SEEDS = {DEVELOPMENT: (20, 21, 22), CONFIRMATION: (30, 31, 32)}
SUREFOOT, ROBUST_GP = "surefoot", "robust-gp"
PLAIN, INFORMED = "single-task-gp", "informed-gp"  # the second is fitted without the outliers
SHARE = 0.06  # of outliers
DISMISSED = 0.3  # the weight below which a reward is dismissed
CHOSEN = 50  # test points whose predictions are best
_NOISE = 0.05  # standard deviation, in those of the function
_NOISE_NEAR, _DISTANCE = 0.2, 0.1  # of points near the optimum, and how far off each coordinate is
_SEARCHED = 20_000  # points, of which the best is taken for the optimum
_SIZE = 10.0  # of outliers of one size
_SMALLEST, _RATIO = 1.5, 100.0  # of outliers of many sizes, whose logarithm is uniform
_TEST = 1000


def _none(signs: Tensor, shares: Tensor) -> Tensor:
    return torch.zeros_like(signs)


def _high(signs: Tensor, shares: Tensor) -> Tensor:
    return torch.full_like(signs, _SIZE)


def _two_sided(signs: Tensor, shares: Tensor) -> Tensor:
    return _SIZE * signs


def _wide(signs: Tensor, shares: Tensor) -> Tensor:
    return signs * _SMALLEST * _RATIO**shares


@dataclass(frozen=True)
class DataSet:
    """Points on a function, uniform or half near its optimum, and rewards with some outliers.

    Args:
        function: Name of the function in BoTorch.
        dimension: The number of coordinates.
        points: The number of points.
        outliers: Sizes of outliers, given signs and uniform numbers.
        label: What they are, in the name; empty if there are none.
        near: Whether every second point is near the optimum, as all test points then are.
    """

    function: str
    dimension: int
    points: int
    outliers: Callable[[Tensor, Tensor], Tensor] = _none
    label: str = ""
    near: bool = False

    @property
    def name(self) -> str:
        """Function, dimension, number of points, outliers and where the points are."""
        words = [self.function.lower(), str(self.dimension), str(self.points), self.label]
        return "-".join(filter(None, [*words, "near" * self.near]))

    @property
    def family(self) -> str:
        """Whether there are outliers, and points near the optimum."""
        if self.near:
            return NEAR
        return WITH_OUTLIERS if self.label else CLEAN

    def drawn(self, seed: int) -> Drawn:
        """The data set of a seed."""
        problem = synthetic(self.function, dimension=self.dimension)
        own = torch.Generator().manual_seed(seed)

        def uniform(*shape: int) -> Tensor:
            return torch.rand(shape, generator=own, dtype=torch.float64)

        def truth(points: Tensor) -> Tensor:
            return problem.value(problem.lower + (problem.upper - problem.lower) * points)

        x, held_out = uniform(self.points, self.dimension), uniform(_TEST, self.dimension)
        if self.near:
            searched = uniform(_SEARCHED, self.dimension)
            best = searched[truth(searched).argmax()]
            for points in (x[::2], held_out):
                off = torch.randn(points.shape, generator=own, dtype=torch.float64)
                points.copy_((best + _DISTANCE * off).clamp(0.0, 1.0))
        noise = _NOISE_NEAR if self.near else _NOISE
        errors = noise * torch.randn(self.points, generator=own, dtype=torch.float64)
        chance, signs, shares = uniform(3, self.points)
        is_outlier = (chance < SHARE) & bool(self.label)
        sizes = self.outliers(torch.where(signs < 0.5, -1.0, 1.0).double(), shares)
        y = truth(x) + errors + torch.where(is_outlier, sizes, 0.0)
        data = Data(x, y, held_out, truth(held_out), 1.0)
        return Drawn(data, truth, is_outlier, problem.optimum)


class Drawn(NamedTuple):
    """A data set, the function, which rewards are outliers (n,), and the optimum."""

    data: Data
    truth: Callable[[Tensor], Tensor]
    is_outlier: Tensor
    optimum: float


SETS = (
    DataSet("Hartmann", 6, 60),
    DataSet("Hartmann", 6, 90),
    DataSet("Levy", 4, 90),
    DataSet("Ackley", 5, 120),
    DataSet("Hartmann", 6, 90, _high, "high"),
    DataSet("Hartmann", 6, 90, _two_sided, "two-sided"),
    DataSet("Hartmann", 6, 90, _wide, "wide"),
    DataSet("Levy", 4, 90, _two_sided, "two-sided"),
    DataSet("Ackley", 5, 120, _wide, "wide"),
    DataSet("Hartmann", 6, 100, near=True),
    DataSet("Ackley", 5, 100, near=True),
    DataSet("Levy", 4, 100, near=True),
)


def run(trial: Trial) -> Rows:
    """One model on one data set; the case is "data-sets/SET MODEL" and the number is the seed."""
    name, model = trial.case.partition("/")[2].split(" ")
    one = next(each for each in SETS if each.name == name)
    drawn = one.drawn(trial.number)
    torch.manual_seed(trial.number)
    with warnings.catch_warnings(action="ignore"):
        scores = _belief(drawn) if model == SUREFOOT else _scores(drawn, _MODELS[model](drawn))
    half = next(half for half, seeds in DATA_SEEDS.items() if trial.number in seeds)
    row = {"task": one.name, "kind": one.family, "half": half, "rival": model}
    return {GIVEN: [row | scores]}


def _belief(drawn: Drawn) -> dict[str, float]:
    """The scores of the default's belief, and what it dismisses and recommends."""
    data = drawn.data
    space = sf.Box([0.0] * data.x.shape[1], [1.0] * data.x.shape[1])
    optimizer = sf.algorithms.robust_ucb(space, seed=0)
    optimizer.tell_all(data.x, data.y.tolist())
    belief = optimizer.belief()
    value, low, high = belief.predict(data.held_out)
    dismissed = belief.weights < DISMISSED
    recommended = drawn.truth(optimizer.recommend().point[None])
    return {
        **_scores(drawn, Prediction(low, value, high)),
        "dismissed": float((dismissed & ~drawn.is_outlier).sum()),
        "kept": float((~dismissed & drawn.is_outlier).sum()),
        GAP: drawn.optimum - float(recommended),
    }


def _scores(drawn: Drawn, prediction: Prediction) -> dict[str, float]:
    """Error, and the shares of intervals that hold the truth, everywhere and where it is best."""
    truth = drawn.data.truth
    covered = (prediction.lower <= truth) & (truth <= prediction.upper)
    best = prediction.median.argsort(descending=True)[:CHOSEN]
    return {
        "error": float((prediction.median - truth).square().mean().sqrt()),
        "random": float(covered.double().mean()),
        "chosen": float(covered[best].double().mean()),
    }


def _informed(drawn: Drawn) -> Prediction:
    kept = ~drawn.is_outlier
    return single_task(drawn.data._replace(x=drawn.data.x[kept], y=drawn.data.y[kept]))


_MODELS: dict[str, Callable[[Drawn], Prediction]] = {
    ROBUST_GP: lambda drawn: robust(drawn.data),
    PLAIN: lambda drawn: single_task(drawn.data),
    INFORMED: _informed,
}

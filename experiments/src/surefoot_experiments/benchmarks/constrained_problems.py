"""Noisy problems with constraints whose true values are known; objectives are minimised."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from surefoot_experiments.benchmarks.constrained_systems import (
    INVENTORY,
    INVENTORY_SPACE,
    pipeline,
    queue,
    server,
)
from surefoot_experiments.scoreboard.space import Categorical, Float, Integer, Point, Space, box
from surefoot_experiments.scoreboard.task import CONFIRMATION, DEVELOPMENT

VALUE = "value"  # of the objective, among the responses
Responses = dict[str, float]
OUTLIERS = 0.05  # probability of an outlier in a response with heavy tails


@dataclass(frozen=True)
class ConstrainedProblem:
    """A function to minimise while others stay at or below their limits.

    Args:
        half: `DEVELOPMENT` if defaults may be chosen by it, `CONFIRMATION` otherwise.
        noise: What the noise is, in words.
        space: Search space.
        limits: Upper limits of the constraints, by name.
        truth: The responses of a point without noise: `VALUE`, and each constraint by name.
        measure: The responses as they are measured.
        best: Value of the best point that satisfies the constraints.
        unit: Standard deviation of the objective over the points that satisfy them, in which
            regret is counted.
    """

    half: str
    noise: str
    space: Space
    limits: Mapping[str, float]
    truth: Callable[[Point], Responses]
    measure: Callable[[Point, np.random.Generator], Responses]
    best: float
    unit: float

    def regret(self, point: Point) -> float:
        """By how much a point is worse than the best one, in units of the objective's deviation."""
        return (self.truth(point)[VALUE] - self.best) / self.unit

    def violation(self, point: Point) -> float:
        """The largest excess of a constraint at a point, as a share of its limit (of 1 if 0)."""
        truth = self.truth(point)
        return max(
            (truth[name] - limit) / (abs(limit) or 1.0) for name, limit in self.limits.items()
        )


@dataclass(frozen=True)
class Additive:
    """Gaussian errors of given deviations; Student-t with 3 degrees of freedom if `heavy`.

    With heavy tails, 5 % of the measurements are outliers in addition, of ten deviations in a
    random direction, in each response by itself.
    """

    truth: Callable[[Point], Responses]
    scales: Mapping[str, float]
    heavy: bool = False

    def __call__(self, point: Point, generator: np.random.Generator) -> Responses:
        """The responses of one measurement."""
        truth, measured = self.truth(point), {}
        for name, scale in self.scales.items():
            normal, t, chance, sign = _drawn(generator)
            error = normal
            if self.heavy:
                error = t + 10.0 * sign * (chance < OUTLIERS)
            measured[name] = truth[name] + scale * error
        return measured


@dataclass(frozen=True)
class Relative:
    """Errors in proportion to the value: log-normal, of given deviations of the logarithm.

    If `heavy`, the logarithm's errors are Student-t with 3 degrees of freedom, and 5 % of the
    measurements are three times too large, in each response by itself.
    """

    truth: Callable[[Point], Responses]
    scales: Mapping[str, float]
    heavy: bool = False

    def __call__(self, point: Point, generator: np.random.Generator) -> Responses:
        """The responses of one measurement."""
        truth, measured = self.truth(point), {}
        for name, scale in self.scales.items():
            normal, t, chance, _ = _drawn(generator)
            error = scale * normal
            if self.heavy:
                slower = -1.0 if name == VALUE else 1.0  # an objective is a negative throughput
                error = scale * t + slower * math.log(3.0) * (chance < OUTLIERS)
            measured[name] = truth[name] * math.exp(error)
        return measured


def _drawn(generator: np.random.Generator) -> tuple[float, float, float, float]:
    """A normal and a Student-t error, a chance in [0, 1], and a sign."""
    sign = 1.0 if generator.random() < 0.5 else -1.0
    t = float(generator.standard_t(3))
    return float(generator.standard_normal()), t, float(generator.random()), sign


def gardner_1(point: Point) -> Responses:
    """Gardner et al. 2014, simulation 1."""
    x, y = _pair(point)
    value = math.cos(2.0 * x) * math.cos(y) + math.sin(x)
    return {VALUE: value, "c": math.cos(x) * math.cos(y) - math.sin(x) * math.sin(y)}


def gardner_2(point: Point) -> Responses:
    """Gardner et al. 2014, simulation 2, whose feasible regions are small."""
    x, y = _pair(point)
    return {VALUE: math.sin(x) + y, "c": math.sin(x) * math.sin(y)}


def mystery(point: Point) -> Responses:
    """Sasena 2002."""
    x, y = _pair(point)
    value = 2.0 + 0.01 * (y - x**2) ** 2 + (1.0 - x) ** 2 + 2.0 * (2.0 - y) ** 2
    value += 7.0 * math.sin(0.5 * x) * math.sin(0.7 * x * y)
    return {VALUE: value, "c": -math.sin(x - y - math.pi / 8.0)}


def new_branin(point: Point) -> Responses:
    """Sasena 2002: Branin's function is the constraint."""
    x, y = _pair(point)
    a, b, c, t = 1.0, 5.1 / (4.0 * math.pi**2), 5.0 / math.pi, 1.0 / (8.0 * math.pi)
    branin = a * (y - b * x**2 + c * x - 6.0) ** 2 + 10.0 * (1.0 - t) * math.cos(x) + 10.0
    return {VALUE: -((x - 10.0) ** 2) - (y - 15.0) ** 2, "c": branin}


def _pair(point: Point) -> tuple[float, float]:
    return float(point["x0"]), float(point["x1"])


_QUEUE = Space((Float("rate", 1.0, 40.0), Integer("servers", 1, 8)))
_SERVER = Space(
    (
        Integer("threads", 1, 64, log=True),
        Float("cache_mb", 16.0, 4096.0, log=True),
        Integer("batch", 1, 32),
        Float("keepalive", 0.0, 60.0),
        Categorical("compression", ("none", "lz4", "zstd")),
    )
)
_PIPELINE = Space(
    (
        Integer("batch", 1, 512, log=True),
        Integer("workers", 1, 16),
        Float("linger_ms", 0.0, 50.0),
        Categorical("codec", ("none", "lz4", "zstd")),
    )
)
PROBLEMS = {
    "gardner-1": ConstrainedProblem(
        half=DEVELOPMENT,
        noise="Gaussian",
        space=box([0.0, 0.0], [6.0, 6.0]),
        limits={"c": 0.5},
        truth=gardner_1,
        measure=Additive(gardner_1, {VALUE: 0.1, "c": 0.1}),
        best=-2.0,
        unit=0.86,
    ),
    "mystery": ConstrainedProblem(
        half=DEVELOPMENT,
        noise="heavy tails, outliers",
        space=box([0.0, 0.0], [5.0, 5.0]),
        limits={"c": 0.0},
        truth=mystery,
        measure=Additive(mystery, {VALUE: 1.0, "c": 0.1}, heavy=True),
        best=-1.17427,
        unit=6.48,
    ),
    "queue": ConstrainedProblem(
        half=DEVELOPMENT,
        noise="heavy tails, outliers",
        space=_QUEUE,
        limits={"p99": 1.5},
        truth=queue,
        measure=Relative(queue, {VALUE: 0.05, "p99": 0.1}, heavy=True),
        best=-13.92598,
        unit=3.82,
    ),
    "server": ConstrainedProblem(
        half=DEVELOPMENT,
        noise="Gaussian",
        space=_SERVER,
        limits={"p99": 20.0, "memory_mb": 2048.0},
        truth=server,
        measure=Relative(server, {VALUE: 0.05, "p99": 0.1, "memory_mb": 0.02}),
        best=-1780.53,
        unit=282.0,
    ),
    "gardner-2": ConstrainedProblem(
        half=CONFIRMATION,
        noise="heavy tails, outliers",
        space=box([0.0, 0.0], [6.0, 6.0]),
        limits={"c": -0.95},
        truth=gardner_2,
        measure=Additive(gardner_2, {VALUE: 0.1, "c": 0.03}, heavy=True),
        best=0.253235,
        unit=2.56,
    ),
    "new-branin": ConstrainedProblem(
        half=CONFIRMATION,
        noise="Gaussian",
        space=box([-5.0, 0.0], [10.0, 15.0]),
        limits={"c": 5.0},
        truth=new_branin,
        measure=Additive(new_branin, {VALUE: 10.0, "c": 3.0}),
        best=-268.7885,
        unit=30.8,
    ),
    "inventory": ConstrainedProblem(
        half=CONFIRMATION,
        noise="200 simulated days",
        space=INVENTORY_SPACE,
        limits={"stockouts": 0.05},
        truth=INVENTORY.truth,
        measure=INVENTORY.measure,
        best=21.34892,
        unit=10.7,
    ),
    "pipeline": ConstrainedProblem(
        half=CONFIRMATION,
        noise="heavy tails, outliers",
        space=_PIPELINE,
        limits={"p99": 50.0, "cores": 8.0},
        truth=pipeline,
        measure=Relative(pipeline, {VALUE: 0.05, "p99": 0.1, "cores": 0.05}, heavy=True),
        best=-74.6223,
        unit=16.4,
    ),
}

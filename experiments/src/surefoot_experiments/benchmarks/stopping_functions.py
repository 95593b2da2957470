"""Functions of parameters whose best value is known, for the benchmark of stopping early."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from surefoot_experiments.problems import Problem
from surefoot_experiments.problems.functions import branin, hartmann, rosenbrock

BEST = 50.0  # value at the optimum
UNIT = 25.0  # standard deviation of the functions of the literature
Point = Mapping[str, Any]


@dataclass(frozen=True)
class Known:
    """A function to be minimised whose smallest value is `BEST`.

    Args:
        space: Distributions of its parameters.
        value: Its value without noise.
    """

    space: dict[str, BaseDistribution]
    value: Callable[[Point], float]

    def left(self, params: Point) -> float:
        """How much better the best configuration is than one, as a share of the latter's value."""
        value = self.value(params)
        return (value - BEST) / value


def _unit_space(dimension: int) -> dict[str, BaseDistribution]:
    return {f"x{index}": FloatDistribution(0.0, 1.0) for index in range(dimension)}


def _of_literature(problem: Problem) -> Known:
    def value(params: Point) -> float:
        unit = torch.tensor([params[f"x{i}"] for i in range(len(problem.lower))]).double()
        point = problem.lower + (problem.upper - problem.lower) * unit
        return BEST + UNIT * (problem.optimum - float(problem.function(point.unsqueeze(0))))

    return Known(_unit_space(len(problem.lower)), value)


def _on_unit_cube(dimension: int, loss: Callable[[np.ndarray], float]) -> Known:
    """A function whose loss, as a share of the best value, is 0 at its optimum."""

    def value(params: Point) -> float:
        return BEST * (1.0 + float(loss(np.array([params[f"x{i}"] for i in range(dimension)]))))

    return Known(_unit_space(dimension), value)


def _bowl(x: np.ndarray) -> float:
    return 3.0 * float(np.square(x - [0.3, 0.6, 0.45]).sum())


def _ellipsoid(x: np.ndarray) -> float:
    """Curvatures from 0.3 to 10 along rotated axes."""
    rotation, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((4, 4)))
    away = rotation @ (x - [0.4, 0.65, 0.3, 0.55])
    return float(np.array([0.3, 1.0, 3.0, 10.0]) @ np.square(away))


def _valleys(first: list[float], second: list[float], depth: float, width: float) -> Any:
    """Two valleys, of which the second is wider and less deep."""

    def loss(x: np.ndarray) -> float:
        narrow = math.exp(-float(np.square(x - first).sum()) / (2.0 * width**2))
        wide = math.exp(-float(np.square(x - second).sum()) / (2.0 * (2.0 * width) ** 2))
        return 1.0 - max(narrow, (1.0 - depth) * wide)

    return loss


def _levy(x: np.ndarray) -> float:
    w = 1.0 + (20.0 * x - 10.0 - 1.0) / 4.0
    steps = np.square(w[:-1] - 1.0) * (1.0 + 10.0 * np.square(np.sin(np.pi * w[:-1] + 1.0)))
    last = (w[-1] - 1.0) ** 2 * (1.0 + math.sin(2.0 * math.pi * w[-1]) ** 2)
    return 0.02 * (math.sin(math.pi * w[0]) ** 2 + float(steps.sum()) + float(last))


def _server() -> Known:
    """A server's latency: threads, cache, a policy of three and a switch that interact."""
    space: dict[str, BaseDistribution] = {
        "threads": IntDistribution(1, 64, log=True),
        "cache": FloatDistribution(0.0, 1.0),
        "policy": CategoricalDistribution(["fifo", "lru", "random"]),
        "journal": CategoricalDistribution(["off", "on"]),
    }
    offset = {"fifo": 0.25, "lru": 0.0, "random": 0.12}

    def value(params: Point) -> float:
        wanted = 4.0 if params["journal"] == "off" else 2.5
        loss = 0.06 * (math.log2(params["threads"]) - wanted) ** 2 + offset[params["policy"]]
        loss += 0.8 * (params["cache"] - 0.7) ** 2 + 0.2 * (params["journal"] == "on")
        return BEST * (1.0 + loss)

    return Known(space, value)


def _database() -> Known:
    """A database's run time: two sizes, a level, a method of four and a switch."""
    space: dict[str, BaseDistribution] = {
        "buffers": FloatDistribution(16.0, 16384.0, log=True),
        "work": FloatDistribution(1.0, 1024.0, log=True),
        "level": IntDistribution(0, 9),
        "method": CategoricalDistribution(["fsync", "open", "data", "none"]),
        "compress": CategoricalDistribution(["no", "yes"]),
    }
    offset = {"fsync": 0.3, "open": 0.1, "data": 0.0, "none": 0.05}

    def value(params: Point) -> float:
        buffers = math.log2(params["buffers"]) / 14.0
        work = math.log2(params["work"]) / 10.0
        level = params["level"] / 9.0
        full = max(0.0, buffers + 0.4 * work - 1.05)
        loss = 1.5 * (0.75 - min(buffers, 0.75)) ** 2 + 4.0 * full**2
        loss += 0.5 * (work - 0.6) ** 2 + offset[params["method"]]
        loss += 0.3 * level**2 if params["compress"] == "yes" else 0.08 + 0.02 * level
        return BEST * (1.0 + loss)

    return Known(space, value)


FUNCTIONS: dict[str, dict[str, Callable[[], Known]]] = {
    "tuning": {
        "branin-2": lambda: _of_literature(branin()),
        "hartmann-3": lambda: _of_literature(hartmann(dimension=3)),
        "bowl-3": lambda: _on_unit_cube(3, _bowl),
        "valleys-2": lambda: _on_unit_cube(2, _valleys([0.2, 0.3], [0.7, 0.65], 0.1, 0.12)),
        "server": _server,
    },
    "confirming": {
        "rosenbrock-2": lambda: _of_literature(rosenbrock(dimension=2)),
        "levy-2": lambda: _on_unit_cube(2, _levy),
        "ellipsoid-4": lambda: _on_unit_cube(4, _ellipsoid),
        "valleys-3": lambda: _on_unit_cube(
            3, _valleys([0.25, 0.7, 0.4], [0.7, 0.3, 0.6], 0.08, 0.2)
        ),
        "database": _database,
    },
}
"""By half: "tuning", by which the rule was chosen, and "confirming"."""

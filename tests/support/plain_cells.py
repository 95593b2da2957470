"""Plain spaces, and ways to put an optimiser together on them."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch

import surefoot as sf
from support.kernel_cases import table
from support.optimizers import optimizer_of
from support.variants import default_on

TABLE = table(4)
MOMENT = sf.Moment(1.0, 100.0)
LINE = torch.linspace(0.0, 1.0, 20, dtype=torch.float64).unsqueeze(-1)
SPACES: dict[str, Callable[[], sf.Arms | sf.Box]] = {
    "arms": lambda: sf.Arms(LINE),
    "bare": lambda: sf.Arms(12),
    "line": lambda: sf.Box([-2.0], [3.0]),
    "box": lambda: sf.Box([0.0, 10.0], [1.0, 30.0]),
    "mixed": lambda: sf.Box(
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [1.0, 1.0, 1.0, 1.0, 1.0],
        levels={1: [0.0, 0.25, 1.0]},
        choices=[(2, 3, 4)],
    ),
    "listed": lambda: sf.Box([0.0, 0.0], [1.0, 1.0], levels={0: [0.0, 0.5, 1.0], 1: [0.0, 1.0]}),
}


def kernel_for(space: sf.Arms | sf.Box) -> object:
    if isinstance(space, sf.Arms) and not space.has_coordinates:
        return sf.kernels.precomputed(TABLE)
    return sf.kernels.matern(2.5, 0.3 * (space.upper - space.lower))


def composed(features: object, estimator: object) -> Callable[..., sf.Optimizer]:
    def build(space: sf.Arms | sf.Box, seed: int = 0, **parts: object) -> sf.Optimizer:
        given = {"features": features, "estimator": estimator, "ridge": 0.1, **parts}
        return optimizer_of(space, kernel_for(space), seed=seed, **given)

    return build


def robust(space: sf.Arms | sf.Box, seed: int = 0, **parts: object) -> sf.Optimizer:
    kernel = kernel_for(space) if isinstance(space, sf.Arms) else None
    if isinstance(space, sf.Arms) and space.has_coordinates:
        kernel = None
    return default_on(space, kernel, seed=seed, **parts)


BUILDS: dict[str, Callable[..., sf.Optimizer]] = {
    "exact-least_squares": composed(sf.Exact(), sf.LeastSquares()),
    "exact-huber": composed(sf.Exact(), sf.Huber()),
    "exact-student_t": composed(sf.Exact(), sf.StudentT()),
    "sketch-least_squares": composed(sf.Nystrom(sf.PivotedCholesky(8)), sf.LeastSquares()),
    "sketch-huber": composed(sf.Nystrom(sf.PivotedCholesky(8)), sf.Huber()),
    "exact-truncation": composed(sf.Exact(), sf.Truncation(MOMENT)),
    "nystrom-least_squares": composed(sf.Nystrom(sf.LeverageSampling(3.0)), sf.LeastSquares()),
    "nystrom-adaptive": composed(
        sf.Nystrom(sf.LeverageSampling(3.0)), sf.AdaptiveTruncation(MOMENT)
    ),
    "batches-huber": composed(
        sf.Nystrom(sf.LeverageSampling(3.0, resample="adaptive")), sf.Huber(growing=True)
    ),
    "robust": robust,
}
FIXED_GEOMETRY = ["exact-least_squares", "exact-huber", "sketch-least_squares", "sketch-huber"]


@dataclass(frozen=True)
class Cell:
    """One space and one way to put an optimiser together."""

    space: str
    parts: str

    def build(self, seed: int = 0, **parts: object) -> sf.Optimizer:
        return BUILDS[self.parts](SPACES[self.space](), seed, **parts)

    def __str__(self) -> str:
        return f"{self.parts}-{self.space}"


def cells(parts: list[str] | None = None, spaces: list[str] | None = None) -> list:
    """As pytest parameters."""
    table = itertools.product(spaces or SPACES, parts or BUILDS)
    return [pytest.param(Cell(space, part), id=f"{part}-{space}") for space, part in table]


def in_turn(spaces: list[str], number: int) -> list:
    """Every way to put an optimiser together, on so many of the spaces in turn."""
    found = []
    for place, part in enumerate(BUILDS):
        chosen = {spaces[(place + step) % len(spaces)] for step in range(number)}
        found += cells([part], sorted(chosen))
    return found


def points_of(space: sf.Arms | sf.Box, number: int, seed: int = 3) -> torch.Tensor:
    """Points (number, d) of the space, some of arms more than once."""
    generator = torch.Generator().manual_seed(seed)
    if isinstance(space, sf.Arms):
        return space.points[torch.randint(len(space), (number,), generator=generator)]
    return space.sample(number, generator)


def noisy(point: torch.Tensor, step: int) -> float:
    """A reward that is a function of the point and the step alone; every 7th is a spike."""
    spike = 20.0 if step % 7 == 6 else 0.0
    return float(torch.sin(3.0 * point).sum()) + 0.1 * float(np.sin(97.0 * step)) + spike


def drive(optimizer: sf.Optimizer, rounds: int, first: int = 0) -> torch.Tensor:
    """Points (rounds, d) of that many rounds of ask and tell."""
    asked = []
    for step in range(first, first + rounds):
        query = optimizer.ask()
        asked.append(query.point.clone())
        optimizer.tell(query, noisy(query.point, step))
    return torch.stack(asked)


def feasible(space: sf.Arms | sf.Box, point: torch.Tensor) -> bool:
    if isinstance(space, sf.Arms):
        return bool((space.points == point).all(-1).any())
    inside = bool(((point >= space.lower) & (point <= space.upper)).all())
    listed = all(bool((point[c] == values).any()) for c, values in space.levels.items())
    one_hot = all(sorted(point[list(group)].tolist())[-2:] == [0.0, 1.0] for group in space.choices)
    return inside and listed and one_hot

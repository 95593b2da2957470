"""V-UCB, CV-UCB and StableOpt in boxes."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import risk as reference
from support.risk_averse_runs import NOISE, TINY, scattered
from surefoot.algorithms import cvar_ucb, stable_opt, v_ucb

MASSES = np.array([1, 2, 1, 1, 0, 2, 2, 1])
LINE_Z, SQUARE_Z = scattered(8), scattered(16)
BOXES: dict[str, sf.Joint] = {
    "line": sf.Joint(sf.Box([-1.0], [2.0]), sf.FiniteEnvironment(LINE_Z, MASSES / MASSES.sum())),
    "square": sf.Joint(sf.Box([0.0, 0.0], [1.0, 1.0]), sf.FiniteEnvironment(SQUARE_Z)),
    "control-noise": sf.Joint(
        sf.Box([0.0], [1.0]),
        sf.FiniteEnvironment(0.2 * LINE_Z, MASSES / MASSES.sum()),
        perturbation=lambda x, z: x + z,
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", BOXES)
def test_in_a_box_too_a_level_near_0_asks_the_same_points_as_stable_opt(name: str) -> None:
    joint, kernel = BOXES[name], sf.kernels.squared_exponential(0.3)
    left = v_ucb(joint, kernel, level=TINY, ridge=NOISE)
    right = stable_opt(joint, kernel, ridge=NOISE)
    for _ in range(3):
        one, other = left.ask(), right.ask()
        assert torch.equal(one.point, other.point)
        assert torch.equal(one.environment, other.environment)
        for optimizer, query in ((left, one), (right, other)):
            optimizer.tell(query, float(torch.sin(7.0 * query.point.sum())))


@pytest.mark.long
@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize(
    ("build", "level"),
    [(v_ucb, Fraction(1, 10)), (cvar_ucb, Fraction(9, 20))],
    ids=["v_ucb", "cvar_ucb"],
)
def test_in_a_box_the_design_is_as_good_as_any_of_a_dense_grid(
    build: Callable[..., sf.Optimizer], level: Fraction, name: str
) -> None:
    joint = BOXES[name]
    box, z = joint.design, joint.environment.points
    masses = MASSES if len(z) == len(MASSES) else np.ones(len(z), dtype=int)
    literal = reference.var if build is v_ucb else reference.cvar
    axes = torch.linspace(0.0, 1.0, 601 if box.dimension == 1 else 41, dtype=torch.float64)
    unit = torch.cartesian_prod(*[axes] * box.dimension).reshape(-1, box.dimension)
    dense = box.lower + (box.upper - box.lower) * unit
    kernel = sf.kernels.squared_exponential(0.3)
    optimizer = build(joint, kernel, level=float(level), ridge=NOISE, initial=12)

    def risks(x: torch.Tensor) -> np.ndarray:
        points = joint.points(x, z).flatten(0, 1)
        mean, deviation = optimizer.belief().posterior.mean_and_deviation(points)
        upper = (mean + optimizer.width * deviation).reshape(len(x), -1)
        return literal(upper.numpy(), masses, level)

    for turn in range(14):
        on_grid = risks(dense) if turn >= 12 else None
        query = optimizer.ask()
        if on_grid is not None:
            best, spread = on_grid.max(), np.ptp(on_grid)
            assert risks(query.point.unsqueeze(0))[0] >= best - 1e-3 * spread
        seen = joint.points(query.point.unsqueeze(0), query.environment.unsqueeze(0))
        optimizer.tell(query, float(torch.sin(7.0 * seen.sum())))

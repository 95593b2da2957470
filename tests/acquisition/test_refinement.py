"""The search where rules hold, against an interior point method."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from surefoot.acquisition.argmax import best_point
from surefoot.parameters import Float, Int, Space


def _problem(dimension: int, seed: int):
    generator = torch.Generator().manual_seed(seed)
    center = 0.4 + 0.6 * torch.rand(dimension, generator=generator, dtype=torch.float64)
    weight = 0.3 + 3.0 * torch.rand(dimension, generator=generator, dtype=torch.float64)

    def score(x: torch.Tensor) -> torch.Tensor:
        return -((x - center).square() * weight).sum(-1)

    return score


@pytest.mark.long
@pytest.mark.parametrize("dimension", [2, 6])
@pytest.mark.parametrize("seed", range(2))
def test_the_best_point_is_that_of_an_interior_point_method(dimension, seed):
    names = [f"x{i}" for i in range(dimension)]
    space = Space(
        {name: Float(0, 1) for name in names},
        [f"{' + '.join(names)} <= {0.4 * dimension}", f"x0 ** 2 + x{dimension - 1} ** 2 <= 0.4"],
    )
    score, box = _problem(dimension, seed), space.encoding.box
    generator = torch.Generator().manual_seed(0)
    found = best_point(score, box, generator, box.sample(8, generator))
    known = minimize(
        lambda x: -float(score(torch.tensor(x)[None])),
        np.full(dimension, 0.3),
        bounds=[(0.0, 1.0)] * dimension,
        constraints=[
            {"type": "ineq", "fun": lambda x: 0.4 * dimension - x.sum()},
            {"type": "ineq", "fun": lambda x: 0.4 - x[0] ** 2 - x[-1] ** 2},
        ],
        method="trust-constr",  # another than the search has
        options={"gtol": 1e-9, "xtol": 1e-12, "maxiter": 3000},
    )
    assert known.constr_violation < 1e-12
    assert space.violated(space.encoding.decode(found)) == ()
    assert -known.fun - float(score(found[None])) < 1e-5


@pytest.mark.daily(1)
@pytest.mark.parametrize("high", [20, 400])  # as levels, and as a continuous number
def test_the_best_whole_numbers_are_exchanged_along_a_boundary(high):
    space = Space({name: Int(0, high) for name in "abc"}, [f"a + b + c <= {high}"])
    box = space.encoding.box
    target = torch.tensor([0.55, 0.35, 0.4], dtype=torch.float64)  # 0.1 beyond the boundary each
    generator = torch.Generator().manual_seed(0)

    def score(x: torch.Tensor) -> torch.Tensor:
        return -(x - target).square().sum(-1)

    found = space.encoding.decode(best_point(score, box, generator, box.sample(8, generator)))
    assert sum(found.values()) == high
    assert list(found.values()) == [round(0.45 * high), round(0.25 * high), round(0.3 * high)]


def test_a_score_is_polished_beside_where_it_is_infinite():
    space = Space({"a": Float(0, 1), "b": Float(0, 1)}, ["a + b <= 1"])
    box = space.encoding.box

    def score(x: torch.Tensor) -> torch.Tensor:
        return (x[:, 0] - x[:, 1] - 0.2).clamp_min(0.0).log() - 4.0 * (x[:, 1] - 0.35).square()

    generator = torch.Generator().manual_seed(0)
    found = best_point(score, box, generator, box.sample(8, generator))
    # On the boundary, where the slope of log(.8 - 2 b) - 4 (b - .35)^2 is 0.
    b = float(found[1])
    assert abs(float(found.sum()) - 1.0) < 1e-9
    assert abs(-2.0 / (0.8 - 2.0 * b) - 8.0 * (b - 0.35)) < 1e-3

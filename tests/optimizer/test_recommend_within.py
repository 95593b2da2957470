"""The best point of a part of the space, such as under a load that is known."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
import torch

import surefoot as sf

EXAMPLE = Path(__file__).parents[2] / "examples" / "contexts.py"
PLANE = sf.Box([0.0, 0.0], [1.0, 1.0])
KERNEL = sf.kernels.squared_exponential([0.5, 0.3])


def told() -> sf.Optimizer:
    """Rewards that are largest where both variables are equal."""
    optimizer = sf.algorithms.robust_ucb(PLANE, KERNEL, ridge=1e-3)
    points = PLANE.sample(40, torch.Generator().manual_seed(0))
    optimizer.tell_all(points, -(points[:, 0] - points[:, 1]).square())
    return optimizer


def test_the_best_point_has_the_given_value() -> None:
    optimizer = told()
    for context in (0.2, 0.5, 0.8):
        best = optimizer.recommend(within=PLANE.given({0: context}))
        assert float(best.point[0]) == pytest.approx(context)
        assert float(best.point[1]) == pytest.approx(context, abs=0.1)
        value, _, _ = optimizer.belief().predict([best.point])
        assert float(value) == pytest.approx(best.value)


@pytest.mark.parametrize("within", [{"x": 1}, 3, sf.Box([0.0], [1.0]), sf.Box([0, 0], [1, 2])])
def test_what_is_no_part_of_the_space_is_refused(within: Any) -> None:
    with pytest.raises(sf.InvalidInput, match=r"within|named"):
        told().recommend(within=within)


@pytest.mark.long
def test_example() -> None:
    for load, best in runpy.run_path(str(EXAMPLE))["best"].items():
        assert best["load"] == load
        assert abs(best["cache"] - (0.2 + 0.6 * load)) < 0.15
        assert abs(best["threads"] - 8) <= 3

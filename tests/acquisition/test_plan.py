"""Where the initial design begins."""

from __future__ import annotations

import pytest
import torch

import surefoot as sf
from surefoot.acquisition import Plan
from surefoot.algorithms import robust_ucb

MIXED = sf.parameters.Space(
    {
        "rate": sf.parameters.Float(1e-4, 1.0, log=True),
        "size": sf.parameters.Int(0, 10),
        "kind": sf.parameters.Choice(["a", "b", "c"]),
        "cache": sf.parameters.Float(0, 1, special=[-1]),
    }
)
RULED = sf.parameters.Space(
    {"x": sf.parameters.Float(0, 1), "y": sf.parameters.Float(0, 1)}, constraints=["x + y <= 0.6"]
)


def designs(space: object, **options: object) -> torch.Tensor:
    optimizer = robust_ucb(space, initial=8, seed=2, **options)  # type: ignore[arg-type]
    return torch.stack([query.point for query in optimizer.ask_batch(8)])


def test_the_default_begins_in_the_middle_of_numeric_variables() -> None:
    box = sf.Box([-1.0, 10.0], [1.0, 30.0])
    found = designs(box)
    assert found[0].tolist() == [0.0, 20.0]
    spread = box.spread(8, torch.Generator().manual_seed(2))
    assert not any(torch.equal(one.design, found[0]) for one in spread)
    params = robust_ucb(MIXED, initial=8, seed=2).ask().params
    assert params["rate"] == pytest.approx(1e-2)
    assert params["size"] == 5


def test_categories_and_special_values_are_those_of_the_design() -> None:
    kinds = {robust_ucb(MIXED, initial=8, seed=seed).ask().params["kind"] for seed in range(20)}
    assert kinds == {"a", "b", "c"}
    caches = [robust_ucb(MIXED, initial=8, seed=seed).ask().params["cache"] for seed in range(20)]
    assert len({*caches}) > 10


def test_the_first_point_satisfies_the_rules() -> None:
    params = robust_ucb(RULED, initial=8, seed=2).ask().params
    assert params["x"] + params["y"] <= 0.6 + 1e-9
    assert params["x"] + params["y"] >= 0.5


def test_a_guess_comes_first_and_variables_that_are_given_stay() -> None:
    box = sf.Box([0.0, 0.0], [1.0, 1.0])
    assert designs(box, guess=box.given({0: 0.9}))[0, 0] == 0.9
    optimizer = robust_ucb(box, initial=8, seed=2)
    assert optimizer.ask(within=box.given({1: 0.3})).point[1] == 0.3


def test_other_algorithms_begin_at_random() -> None:
    box = sf.Box([0.0], [1.0])
    plan = Plan(initial=3)
    optimizer = sf.Optimizer(box, sf.Method(plan=plan), seed=1)
    assert optimizer.ask().point != 0.5
    with pytest.raises(sf.InvalidInput, match="from_middle"):
        Plan(from_middle="yes")  # type: ignore[arg-type]

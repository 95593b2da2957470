"""Constraints that jump or are met with equality, and the search while nothing is feasible."""

import math

import pytest
import torch

import surefoot as sf
from surefoot.beliefs import gains

LIMITED = {"c": sf.Constraint(maximum=0.0)}


def _optimizer(constraint, number=20, dimension=1, seed=0):
    """A run with measured points, whose objective is the first coordinate."""
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(sf.Box([0.0] * dimension, [1.0] * dimension), outcomes=LIMITED), seed=0
    )
    generator = torch.Generator().manual_seed(seed)
    points = torch.rand(number, dimension, dtype=torch.float64, generator=generator)
    for point in points:
        optimizer.tell(point, float(point[0]), outcomes={"c": constraint(float(point[0]))})
    return optimizer


VIOLATIONS = {
    "jump": lambda x: -2.65 if x < 0.3 else 3.89,
    "zero or one": lambda x: float(x >= 0.3),
    "clipped": lambda x: max(0.0, x - 0.3),
    "integer": lambda x: math.floor(10.0 * x) - 2,
}


@pytest.mark.daily(2)
@pytest.mark.parametrize("kind", VIOLATIONS)
def test_a_constraint_holds_where_it_was_met(kind):
    belief = _optimizer(VIOLATIONS[kind]).belief()
    chance = belief.feasibility([[0.2], [0.25], [0.45], [0.7], [0.95]])
    assert bool((chance[:2] > 0.9).all())
    assert bool((chance[2:] < 0.1).all())


@pytest.mark.long
@pytest.mark.parametrize("kind", ["zero or one", "clipped"])
def test_what_holds_is_reported_within_its_limit(kind):
    belief = _optimizer(VIOLATIONS[kind], number=8).belief()
    known = belief.constraints.predict(torch.linspace(0, 1, 21).double().unsqueeze(-1))["c"]
    holds = known.probability > 0.5
    assert bool(holds.any())
    assert not bool(holds.all())
    assert torch.equal(known.value <= 1e-12, holds)
    assert bool(((known.lower <= known.value) & (known.value <= known.upper)).all())


@pytest.mark.long
@pytest.mark.parametrize("value", [0.0, -3.0])
def test_a_limit_that_is_met_without_spread_holds(value):
    optimizer = _optimizer(lambda x: value, number=10)
    best = optimizer.recommend()
    assert best.feasibility > 0.95
    assert float(best.point) > 0.9


@pytest.mark.long
def test_the_search_for_a_first_feasible_point_ends_with_it():
    optimizer = _optimizer(lambda x: 4.0 if x > 0.05 else -2.0, number=10)
    assert optimizer.belief().candidates.seeks_feasibility
    for _ in range(8):
        query = optimizer.ask()
        x = float(query.point)
        optimizer.tell(query, x, outcomes={"c": 4.0 if x > 0.05 else -2.0})
    assert not optimizer.belief().candidates.seeks_feasibility
    assert float(optimizer.recommend().point) <= 0.05


def test_the_search_for_a_first_feasible_point_leaves_alone_what_fails():
    space = sf.Box([0.0] * 3, [1.0] * 3, choices=[(1, 2)])
    optimizer = sf.algorithms.robust_ucb(sf.Problem(space, outcomes=LIMITED), initial=0, seed=0)
    for x in (0.05, 0.15, 0.25, 0.35, 0.4, 0.5):  # alike, and a thousand deviations beyond
        memory = 3.89 + 0.004 * math.sin(40.0 * x)
        optimizer.tell([x, 1.0, 0.0], x, outcomes={"c": memory})
    for x in (0.3, 0.8):
        optimizer.forget(optimizer.expect([x, 0.0, 1.0]), failed=True)
    assert optimizer.belief().candidates.seeks_feasibility
    assert optimizer.shared_failures.found
    x, *category = optimizer.ask().point.tolist()
    assert category == [1.0, 0.0]
    assert x > 0.5


@pytest.mark.long
def test_one_value_that_holds_against_the_model_is_neither_believed_nor_dismissed():
    optimizer = _optimizer(lambda x: 4.0 + 0.001 * math.sin(40.0 * x), number=12)
    optimizer.tell([0.31], 0.31, outcomes={"c": -2.0})
    chance = optimizer.belief().feasibility([[0.31], [0.9]])
    assert 0.4 < float(chance[0]) < 0.9
    assert float(chance[1]) < 0.3


def test_nothing_is_said_of_gains_over_a_point_that_violates_its_limits():
    belief = _optimizer(lambda x: 5.0, number=10).belief()
    assert bool(gains.largest(belief, [0.5]).isposinf().all())

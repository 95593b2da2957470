"""Beliefs of further outcomes, and what is asked of a belief by lists and by name."""

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.types import Watched

SPACES = {
    "box": sf.Box([0.0], [1.0]),
    "arms": sf.Arms(torch.linspace(0.0, 1.0, 9, dtype=torch.float64)[:, None]),
    "joint": sf.Joint(sf.Box([0.0], [1.0]), sf.FiniteEnvironment([[0.0], [1.0]], [0.5, 0.5])),
    "named": sf.parameters.Space({"x": sf.parameters.Float(0.0, 1.0)}),
}
ASSUMED = sf.Assumptions(norm=5.0, lengthscale=0.3, noise=0.1)


def run(space: str, assume: sf.Assumptions | None = None, watched: bool = True) -> sf.Optimizer:
    outcomes = {"memory": Watched()} if watched else {}
    risk = sf.risks.Mean() if space == "joint" else None
    problem = sf.Problem(SPACES[space], outcomes, risk, assume=assume)
    optimizer = sf.Optimizer(problem, sf.algorithms.robust(problem), seed=0)
    for query in optimizer.ask_batch(6):
        x = float(query.point[0])
        further = {"memory": 100.0 * x} if watched else None
        optimizer.tell(query, -((x - 0.3) ** 2), outcomes=further)
    return optimizer


@pytest.mark.long
@pytest.mark.parametrize("space", ["box", "arms"])
def test_what_is_assumed_of_the_objective_proves_nothing_of_another_outcome(space: str) -> None:
    belief = run(space, ASSUMED).belief()
    assert belief.certificate().lower <= 0.0
    with pytest.raises(sf.InvalidInput, match="there is no certificate"):
        belief.of(outcome="memory").certificate()


@pytest.mark.long
def test_another_outcome_is_not_in_the_units_of_the_objective() -> None:
    belief = run("box").belief()
    doubled = belief.of(units=sf.regression.transforms.Chain((sf.regression.transforms.Log(),)))
    for of in (belief, doubled):
        assert float(of.of(outcome="memory").predict([[0.5]])[0]) == pytest.approx(50.0, rel=0.2)


@pytest.mark.daily(1)
@pytest.mark.parametrize("watched", [True, False])
def test_an_outcome_that_was_not_measured_is_refused(watched: bool) -> None:
    belief = run("box", watched=watched).belief()
    expected = "expected 'memory'" if watched else "expected nothing"
    with pytest.raises(sf.InvalidInput, match=f"`outcome` is 'disk', {expected}"):
        belief.of(outcome="disk")


@pytest.mark.long
@pytest.mark.parametrize(
    ("space", "points"),
    [
        ("box", [[0.2], [0.7]]),
        ("arms", [[0.25], [0.75]]),
        ("joint", [[0.2, 0.0], [0.7, 1.0]]),
        ("named", [{"x": 0.2}, {"x": 0.7}]),
    ],
)
def test_the_bias_is_asked_at_points_as_lists(space: str, points: list) -> None:
    assert run(space).belief().outcome.bias_near(points).shape == (2,)


@pytest.mark.long
@pytest.mark.parametrize("space", SPACES)
def test_without_constraints_every_design_is_feasible(space: str) -> None:
    candidates = run(space, watched=False).belief().candidates
    logs = candidates.log_feasibility(candidates.designs)
    assert logs.tolist() == pytest.approx([0.0] * len(logs), abs=1e-12)


@pytest.mark.parametrize("number", [12, 24])
def test_a_limit_leaves_a_quantity_as_it_is_predicted(number):
    random = np.random.default_rng(number)
    points = random.random((number, 1))
    values = np.sin(5.0 * points[:, 0]) + 0.3 * random.standard_normal(number)
    outcomes = {"limited": sf.Constraint(maximum=0.7), "watched": sf.Watched()}
    optimizer = sf.algorithms.robust_ucb(sf.Problem(sf.Box([0.0], [1.0]), outcomes), seed=0)
    optimizer.tell_all(points, points[:, 0], outcomes=[dict.fromkeys(outcomes, v) for v in values])
    belief, at = optimizer.belief(), torch.linspace(0.0, 1.0, 5, dtype=torch.float64)[:, None]
    limited = belief.constraints.predict(at)["limited"]
    for found, expected in zip(limited, belief.of(outcome="watched").predict(at), strict=False):
        assert torch.allclose(found, expected, rtol=0.06, atol=0.03)


def test_candidates_are_judged_under_any_environments_and_none_are():
    candidates, designs = run("joint").belief().candidates, torch.rand(3, 1, dtype=torch.float64)
    for number in (1, 2, 5):
        bounds = candidates.bounds(designs, torch.rand(number, 1, dtype=torch.float64))
        assert [tuple(one.shape) for one in bounds] == [(3, number)] * 3
    for none in (candidates.mean(designs[:0]), candidates.bound(designs[:0], 1.0)):
        assert tuple(none.shape) == (0,)

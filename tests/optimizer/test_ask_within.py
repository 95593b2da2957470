"""Choices among a part of the space, where some variables are given."""

import pytest
import torch

import surefoot as sf
from surefoot.spaces import Box
from surefoot.spaces.representatives import every_point
from surefoot.types import InvalidInput

SPACE = sf.parameters.Space(
    {
        "load": sf.parameters.Float(0, 1),
        "threads": sf.parameters.Int(1, 8),
        "mode": sf.parameters.Choice(["plain", "tuned"]),
        "level": sf.parameters.Float(0, 1, when="mode == 'tuned'"),
    },
    constraints=["8 * load + threads <= 9"],
)
GIVEN = [
    {"load": 0.3},
    {"threads": 5, "mode": "plain"},
    {"level": 0.25},
    {"load": 0.5, "threads": 3, "mode": "tuned", "level": 0.5},
]


def told(**settings) -> sf.Optimizer:
    optimizer = sf.algorithms.robust_ucb(SPACE, seed=0, **settings)
    for number in range(7):
        params = optimizer.ask().params
        optimizer.tell(params, -((params["threads"] - 4) ** 2) - number % 2)
    return optimizer


@pytest.mark.long
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("measured", [0, 7])
def test_what_is_given_holds_and_so_do_the_rules(given, measured):
    optimizer = told(initial=4) if measured else sf.algorithms.robust_ucb(SPACE, seed=0)
    params = optimizer.ask(within=given).params
    known = {**given, "level": given.get("level")} if params["mode"] == "tuned" else given
    assert all(params[name] == value for name, value in known.items() if name in params and value)
    assert not SPACE.violated(params)


@pytest.mark.daily(2)
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"within": {"load": 1.0, "threads": 8}}, r"satisfies `8 \* load \+ threads <= 9`"),
        ({"within": {"load": 2.0}}, "'load' is 2.0, expected a number from 0 to 1"),
        ({"within": {"speed": 2.0}}, "'speed' is no parameter"),
        ({"within": 3}, "`within` is 3, expected a part of the space"),
        ({"within": Box([0.0], [1.0])}, "expected a part of the space"),
        ({"within": {"load": 0.3}, "arms": [[0.0]]}, "leave one out"),
    ],
)
def test_wrong_parts_are_refused(settings, message):
    optimizer = sf.algorithms.robust_ucb(SPACE, seed=0)
    with pytest.raises(InvalidInput, match=message):
        optimizer.ask(**settings)
    assert optimizer.pending == []


def test_values_by_name_need_names_and_parts_need_a_box():
    box = sf.algorithms.robust_ucb(Box([0.0], [1.0]), seed=0)
    with pytest.raises(InvalidInput, match="no named parameters"):
        box.ask(within={"load": 0.3})
    arms = sf.algorithms.robust_ucb(sf.Arms([[0.0], [1.0]]), seed=0)
    with pytest.raises(InvalidInput, match="pass `arms` instead"):
        arms.ask(within=Box([0.0], [1.0]))
    with pytest.raises(InvalidInput, match="coordinate 2 is not one of"):
        Box([0.0], [1.0]).given({2: 0.5})
    with pytest.raises(InvalidInput, match=r"fixed\[0\] is 1.5"):
        Box([0.0], [1.0]).given({0: 1.5})


@pytest.mark.parametrize("policy", [None, sf.acquisition.Replication(most=3)])
def test_every_policy_stays_in_a_part(policy):
    box = Box([0.0, 0.0], [1.0, 1.0], levels={1: [0.0, 0.5, 1.0]})
    kernel = sf.kernels.squared_exponential(0.3)
    optimizer = sf.algorithms.robust_ucb(box, kernel, policy=policy, seed=0)
    points = torch.rand(6, 2, generator=torch.Generator().manual_seed(0)).double()
    optimizer.tell_all(box.snap(points), points.sum(-1))
    narrow = Box([0.2, 0.0], [0.4, 1.0], levels={1: [0.5]})
    for _ in range(3):
        assert float(optimizer.ask(within=box.given({0: 0.25})).point[0]) == 0.25
        x, level = optimizer.ask(within=narrow).point.tolist()
        assert 0.2 <= x <= 0.4
        assert level == 0.5


def test_a_part_in_a_random_environment():
    space = sf.Joint(Box([0.0, 0.0], [1.0, 1.0]), sf.FiniteEnvironment([0.0, 1.0]))
    optimizer = sf.algorithms.robust_ucb(sf.Problem(space, risk=sf.VaR(0.5)), seed=0, initial=2)
    for _ in range(3):
        query = optimizer.ask(within=space.design.given({1: 0.75}))
        assert float(query.point[1]) == 0.75
        optimizer.tell(query, float(query.point[0]))


@pytest.mark.parametrize(("given", "left_out"), [(0.05, False), (0.95, True)])
def test_points_of_the_design_are_left_out_by_where_they_are_measured(given, left_out):
    box = Box([0.0, 0.0], [1.0, 1.0])
    plan = sf.acquisition.Plan(initial=20)
    optimizer = sf.Optimizer(
        box, sf.Method(sf.kernels.squared_exponential(0.3), ridge=1e-3, plan=plan)
    )
    for height in (0.1, 0.3, 0.5, 0.7, 0.9):
        optimizer.forget([0.95, height], failed=True)
    for height in (0.1, 0.3, 0.5, 0.7, 0.9):
        optimizer.tell([0.05, height], 1.0)
    for _ in range(3):
        optimizer.forget(optimizer.ask(within=box.given({0: given})), failed=False)
    assert optimizer._initial_used == (20 if left_out else 3)


def test_the_points_of_a_finite_part():
    box = Box([0.0, 0.0], [1.0, 1.0], levels={0: [0.0, 1.0], 1: [0.0, 1.0]})
    assert every_point(box.given({0: 1.0}), 9).tolist() == [[1.0, 0.0], [1.0, 1.0]]
    assert every_point(box.given({0: 1.0, 1: 0.0}), 9).tolist() == [[1.0, 0.0]]

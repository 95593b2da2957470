"""Measurements at several levels of accuracy, of which the last counts."""

from __future__ import annotations

import math
import runpy
from pathlib import Path
from typing import Any

import pytest
import torch

import surefoot as sf
from support.variants import default_on
from surefoot.acquisition import GainPerCost, Plan
from surefoot.spaces.fidelity import Ranked

EXAMPLE = Path(__file__).parents[2] / "examples" / "fidelity.py"
LINE = sf.Box([0.0], [1.0])
FIDELITY = sf.Fidelity([1, 10, 100], cost=[1, 10, 100])
SQUARE = sf.kernels.squared_exponential([0.2, 0.5])


def fitted_to(levels: list[float], rewards: list[float], kernel: Any = SQUARE) -> sf.Optimizer:
    """Rewards at x = 0.5, one at each of some levels."""
    optimizer = sf.algorithms.robust_ucb(sf.Problem(LINE, fidelity=FIDELITY), kernel, ridge=0.01)
    optimizer.tell_all([[0.5]] * len(levels), rewards, [[one] for one in levels])
    return optimizer


@pytest.mark.parametrize(
    ("levels", "cost", "message"),
    [
        ([5], [1], "two or more increasing"),
        ([5, 3], [1, 2], "two or more increasing"),
        ([5, 5], [1, 2], "two or more increasing"),
        ([5, math.nan], [1, 2], "levels"),
        ([1, 2], [1], "one for each"),
        ([1, 2], [0, 1], "above 0"),
        ([1, 2], [1, math.inf], "cost"),
        ("ab", [1, 2], "levels"),
    ],
)
def test_a_wrong_fidelity_is_refused(levels: Any, cost: Any, message: str) -> None:
    with pytest.raises(sf.InvalidInput, match=message):
        sf.Fidelity(levels, cost)


@pytest.mark.parametrize(
    ("space", "more", "message"),
    [
        (LINE, {"fidelity": 3}, "fidelity"),
        (LINE, {"fidelity": FIDELITY, "risk": sf.Mean()}, "leave one"),
        (FIDELITY.of(LINE), {"fidelity": FIDELITY}, "leave one"),
        (FIDELITY.of(LINE), {"risk": sf.Mean(), "policy": GainPerCost([1, 2])}, "one for each"),
        (LINE, {"policy": GainPerCost([1, 2])}, "Fidelity"),
        (sf.Arms(5), {"fidelity": FIDELITY}, "coordinates"),
    ],
)
def test_what_does_not_go_together_is_refused(
    space: Any, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(sf.InvalidInput, match=message):
        default_on(space, **more)


def test_levels_of_the_plan_are_those_of_the_space() -> None:
    with pytest.raises(sf.InvalidInput, match="one for each value"):
        sf.Optimizer(LINE, sf.Method(plan=Plan(levels=(2, 1))))


def test_the_initial_design_compares_levels_at_the_same_points() -> None:
    optimizer = sf.algorithms.robust_ucb(sf.Problem(LINE, fidelity=FIDELITY), initial=5, seed=1)
    asked = [(float(one.point), float(one.environment)) for one in optimizer.ask_batch(9)]
    levels = [level for _, level in asked]
    assert levels == [1.0] * 5 + [10.0] * 2 + [100.0] * 2
    points = [point for point, _ in asked]
    assert points[5:7] == points[7:9] == points[:2]
    assert len({*points}) == 5


def test_levels_are_as_far_apart_as_their_ranks() -> None:
    x, z = torch.zeros(3, 1), torch.tensor([[1.0], [10.0], [100.0]])
    assert Ranked((1.0, 10.0, 100.0))(x, z)[:, 1].tolist() == [0.0, 0.5, 1.0]


def test_gains_are_covariances_by_the_formula() -> None:
    optimizer = fitted_to([1.0], [1.0])
    belief = optimizer.belief()
    x = torch.tensor([0.5], dtype=torch.float64)
    points = belief.space.points(x.unsqueeze(0), belief.candidates.z)[0]
    _, covariance = belief.posterior.joint(points)
    noise = 0.01 * belief.posterior.scale**2
    wanted = [
        float(covariance[i, 2]) ** 2 / (float(covariance[i, i]) + noise) / cost
        for i, cost in enumerate(FIDELITY.cost)
    ]
    found = GainPerCost(FIDELITY.cost).gains(belief, x)
    torch.testing.assert_close(found.tolist(), wanted)


@pytest.mark.parametrize(("reach", "level"), [(2.0, 1.0), (0.05, 100.0)])
def test_a_level_is_measured_for_what_it_says_of_the_highest(reach: float, level: float) -> None:
    kernel = sf.kernels.squared_exponential([0.2, reach])
    optimizer = sf.algorithms.robust_ucb(sf.Problem(LINE, fidelity=FIDELITY), kernel, ridge=0.01)
    optimizer.tell([0.0], 0.0, 100.0)
    query = optimizer.ask()
    assert float(query.environment) == level


def test_what_is_recommended_is_of_the_highest_level(tmp_path: Path) -> None:
    optimizer = fitted_to([1.0, 100.0], [5.0, 2.0], sf.kernels.squared_exponential([0.2, 0.05]))
    assert optimizer.recommend().value == pytest.approx(2.0, abs=0.2)
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    one, other = optimizer.ask(), loaded.ask()
    assert torch.equal(one.point, other.point)
    assert torch.equal(one.environment, other.environment)


@pytest.mark.long
def test_example(capsys: pytest.CaptureFixture[str]) -> None:
    values = runpy.run_path(str(EXAMPLE))
    best = values["best"].params
    assert abs(best["threads"] - 12) <= 3
    assert abs(best["cache"] - 0.6) < 0.2
    assert "120 s" in capsys.readouterr().out
    levels = values["optimizer"].history.sites[:, 2]
    assert float((levels < 1.0).double().mean()) > 0.4  # most runs are short


OFFSETS = (0.0, 3.0, 100.0, -1e3)


@pytest.mark.parametrize("offset", OFFSETS)
def test_levels_may_differ_by_a_constant(offset: float) -> None:
    """A warm-up, or a loss after an epoch: low levels say as much of the last one as without."""
    generator = torch.Generator().manual_seed(0)
    designs = torch.rand(18, 1, generator=generator, dtype=torch.float64)
    designs = torch.cat([designs, designs[:3], designs[:4]])
    levels = torch.tensor([1.0] * 18 + [10.0] * 3 + [100.0] * 4, dtype=torch.float64)
    noise = 0.02 * torch.randn(25, generator=generator, dtype=torch.float64)
    optimizer = sf.algorithms.robust_ucb(sf.Problem(LINE, fidelity=FIDELITY), seed=0)
    values = (9.0 * designs[:, 0]).sin() - offset / levels + noise
    optimizer.tell_all(designs, values.tolist(), levels[:, None])
    truth = (9.0 * designs[4:18, 0]).sin() - offset / 100.0  # of what the last level has not seen
    value, lower, upper = optimizer.belief().predict(designs[4:18])
    assert float((value - truth).square().mean().sqrt()) < 0.1
    assert bool(((lower <= truth) & (truth <= upper)).double().mean() > 0.8)
    inputs = optimizer.space.points(designs[4:5], torch.tensor([[1.0], [10.0], [100.0]]).double())[
        0
    ]
    there, _, _ = optimizer.belief().predictions.at_inputs(inputs)
    expected = float((9.0 * designs[4, 0]).sin()) - offset / torch.tensor([1.0, 10.0, 100.0])
    assert torch.allclose(there, expected.double(), atol=0.2), "as measured at each level"
    gains = GainPerCost(FIDELITY.cost).gains(optimizer.belief(), torch.tensor([0.62]).double())
    assert float(gains[2]) < float(gains.max())


def test_levels_that_say_nothing_of_each_other_have_no_constant_in_common() -> None:
    generator = torch.Generator().manual_seed(0)
    designs = torch.rand(24, 1, generator=generator, dtype=torch.float64)
    levels = torch.tensor([1.0, 100.0] * 12, dtype=torch.float64)
    values = torch.where(levels > 1.0, (9.0 * designs[:, 0]).sin(), (23.0 * designs[:, 0]).cos())
    optimizer = sf.algorithms.robust_ucb(sf.Problem(LINE, fidelity=FIDELITY), seed=0)
    optimizer.tell_all(designs, values.tolist(), levels[:, None])
    assert "level" not in optimizer.belief().outcome.effects


def test_before_the_last_level_is_measured_its_value_is_as_uncertain_as_a_constant() -> None:
    generator = torch.Generator().manual_seed(0)
    designs = torch.rand(18, 1, generator=generator, dtype=torch.float64)
    levels = torch.tensor([1.0] * 12 + [10.0] * 6, dtype=torch.float64)
    optimizer = sf.algorithms.robust_ucb(sf.Problem(LINE, fidelity=FIDELITY), seed=0)
    values = (9.0 * designs[:, 0]).sin() - 10.0 / levels
    optimizer.tell_all(designs, values.tolist(), levels[:, None])
    truth = (9.0 * designs[:, 0]).sin() - 0.1
    _, lower, upper = optimizer.belief().predict(designs)
    assert bool(((lower <= truth) & (truth <= upper)).all())

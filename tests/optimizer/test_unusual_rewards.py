"""Rewards that are constant, repeated, huge, tiny or mostly equal."""

import numpy as np
import pytest
import torch

import surefoot as sf
from support.plain_cells import LINE, MOMENT, Cell, feasible, in_turn, noisy, points_of


def same_posterior(left: sf.Optimizer, right: sf.Optimizer, **tolerance: float) -> None:
    at = points_of(left.space, 15, seed=9)
    with torch.no_grad():
        mean, deviation = left.belief().posterior.mean_and_deviation(at)
        expected, spread = right.belief().posterior.mean_and_deviation(at)
    torch.testing.assert_close(mean, expected, **tolerance)
    torch.testing.assert_close(deviation, spread, **tolerance)


class TestUnusualRewards:
    """Rewards that are constant, repeated, huge or tiny."""

    @pytest.mark.long
    @pytest.mark.parametrize("cell", in_turn(["box", "bare", "arms", "mixed"], 1))
    def test_a_thousand_copies_of_a_point(self, cell: Cell) -> None:
        optimizer = cell.build()
        points = points_of(optimizer.space, 5)
        optimizer.tell_all(points, [0.0, 1.0, 2.0, 3.0, 4.0])
        rewards = 7.0 + torch.linspace(-0.5, 0.5, 1000, dtype=torch.float64)
        optimizer.tell_all(points[:1].repeat(1000, 1), rewards)
        found = optimizer.belief().posterior.mean(points[:1])
        assert float(found) == pytest.approx(7.0, abs=0.2)
        assert feasible(optimizer.space, optimizer.ask().point)

    @pytest.mark.daily(5)
    @pytest.mark.parametrize("cell", in_turn(["arms", "bare", "line", "mixed"], 2))
    def test_constant_rewards(self, cell: Cell) -> None:
        value = {"arms": 0.0, "bare": 3.0, "line": 0.0, "mixed": -1e9}[cell.space]
        optimizer = cell.build()
        for point in points_of(optimizer.space, 6):
            optimizer.tell(point, value)
        assert feasible(optimizer.space, optimizer.ask().point)
        found = optimizer.recommend()
        assert np.isfinite([found.value, found.lower, found.upper]).all()

    @pytest.mark.daily(4)
    @pytest.mark.parametrize("cell", in_turn(["arms", "bare", "line"], 1))
    def test_two_rewards_at_once(self, cell: Cell) -> None:
        optimizer = cell.build()
        optimizer.tell_all(points_of(optimizer.space, 2), [1.0, 2.0])
        assert feasible(optimizer.space, optimizer.ask().point)

    @pytest.mark.daily(5)
    @pytest.mark.parametrize("cell", in_turn(["line", "arms", "bare"], 2))
    def test_rewards_that_are_mostly_equal(self, cell: Cell) -> None:
        optimizer = cell.build()
        for step, point in enumerate(points_of(optimizer.space, 8)):
            optimizer.tell(point, 1.0 if step in (3, 5) else 0.0)
        assert feasible(optimizer.space, optimizer.ask().point)
        assert -0.5 < optimizer.recommend().value < 1.5

    @pytest.mark.long
    @pytest.mark.parametrize(("space", "unit"), [("arms", 1e12), ("bare", 1e-12), ("line", 1e-30)])
    def test_the_unit_of_rewards_does_not_matter_to_the_robust_default(
        self, space: str, unit: float
    ) -> None:
        plain, scaled = Cell(space, "robust").build(), Cell(space, "robust").build()
        points = points_of(plain.space, 15)
        rewards = torch.tensor([noisy(point, step) for step, point in enumerate(points)])
        plain.tell_all(points, rewards)
        scaled.tell_all(points, unit * rewards.double())
        at = points_of(plain.space, 10, seed=4)
        torch.testing.assert_close(
            scaled.belief().posterior.mean(at) / unit,
            plain.belief().posterior.mean(at),
            rtol=1e-3,
            atol=1e-3,
        )
        torch.testing.assert_close(
            scaled.belief().weights, plain.belief().weights, rtol=1e-2, atol=1e-2
        )

    @pytest.mark.long
    @pytest.mark.parametrize(
        ("space", "sentinel"),
        [("arms", 1e15), ("bare", 1e30), ("line", 1e150), ("arms", 1.7e308), ("line", -1.7e308)],
    )
    def test_a_sentinel_among_rewards_is_an_outlier_like_any_other(
        self, space: str, sentinel: float
    ) -> None:
        spiked, plain = Cell(space, "robust").build(), Cell(space, "robust").build()
        points = points_of(plain.space, 20)
        rewards = [noisy(point, 0) for point in points]
        plain.tell_all(points, rewards)
        spiked.tell_all(points, [*rewards[:11], sentinel, *rewards[12:]])
        same_posterior(spiked, plain, rtol=0.0, atol=1.0)


class TestWeights:
    @pytest.mark.long
    @pytest.mark.parametrize("estimator", [sf.Huber(), sf.StudentT(), sf.Truncation(MOMENT)])
    @pytest.mark.parametrize("told", [60, 1500])
    def test_a_spike_among_many_rewards_of_arms(self, estimator: object, told: int) -> None:
        """Also when the rewards of an arm are kept as quantiles."""
        noise = np.random.default_rng(0)
        optimizer = sf.Optimizer(
            sf.Arms(LINE), sf.Method(sf.kernels.matern(2.5, 0.3), estimator=estimator)
        )
        arms = noise.integers(0, 20, told).tolist()
        rewards = noise.normal(size=told)
        rewards[7] = 1000.0
        optimizer.tell_all(arms, rewards)
        assert optimizer.belief().weights.shape == (told,)
        assert float(optimizer.belief().weights[7]) < 0.1
        assert float(optimizer.belief().weights.median()) > 0.9


@pytest.mark.long
@pytest.mark.parametrize("number", [1, 2, 10, 30, 65])
def test_rewards_that_are_all_zero_have_an_interval_of_no_unit(number: int) -> None:
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), seed=0)
    optimizer.tell_all(torch.linspace(0.0, 1.0, number).unsqueeze(-1), [0.0] * number)
    found = optimizer.recommend()
    assert found.value == 0.0
    assert -1e-25 < found.lower <= 0.0 <= found.upper < 1e-25


@pytest.mark.long
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e9])
def test_the_first_reward_other_than_zero_sets_the_scale(unit: float) -> None:
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), seed=0)
    optimizer.tell_all([[0.1], [0.4], [0.9]], [0.0] * 3)
    optimizer.tell_all([[0.5], [0.52], [0.55]], [unit] * 3)
    found = optimizer.recommend()
    assert 0.3 * unit < found.value < 1.5 * unit
    assert 0.01 * unit < found.upper - found.lower < 3.0 * unit

"""Worst expectations over laws near that of Z, against linear programming and their duals."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import distributionally_robust as reference
from support.risk_cases import tensor

BY_NAME = {
    "total-variation": reference.total_variation,
    "chi-squared": reference.chi_squared,
    "kullback-leibler": reference.kullback_leibler,
}
DIVERGENCES = sorted(BY_NAME)


def case(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Values and probabilities of up to nine environments, with ties, and a radius."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 10))
    values = rng.normal(size=n) if seed % 2 else rng.integers(-2, 3, n).astype(float)
    return values, rng.dirichlet(np.ones(n)), float(rng.choice([1e-3, 0.05, 0.3, 0.9]))


@pytest.mark.parametrize("divergence", DIVERGENCES)
class TestWorst:
    @pytest.mark.slow
    def test_it_is_the_least_expectation(self, divergence):
        for seed in range(24):
            values, weights, radius = case(seed)
            risk = sf.DistributionallyRobust(radius, divergence)
            found = float(risk(tensor(values), tensor(weights)))
            expected = BY_NAME[divergence](values, weights, radius)
            assert found == pytest.approx(expected, abs=2e-6), (seed, radius)

    def test_the_worst_law_is_one_within_the_radius(self, divergence):
        for seed in range(24):
            values, weights, radius = case(seed)
            law = sf.DistributionallyRobust(radius, divergence).worst(
                tensor(values), tensor(weights)
            )
            assert float(law.sum()) == pytest.approx(1.0, abs=1e-12)
            assert float(law.min()) >= 0.0
            q, p = law.numpy(), weights
            apart = {
                "total-variation": 0.5 * np.abs(q - p).sum(),
                "chi-squared": ((q - p) ** 2 / p).sum(),
                "kullback-leibler": (q[q > 0] * np.log(q[q > 0] / p[q > 0])).sum(),
            }
            assert apart[divergence] <= radius * (1.0 + 1e-9) + 1e-12

    def test_between_the_mean_and_the_worst_case(self, divergence):
        values, weights, _ = case(3)
        args = tensor(values), tensor(weights)
        risks = [sf.DistributionallyRobust(r, divergence)(*args) for r in (1e-12, 0.1, 0.5, 1.0)]
        assert all(a >= b for a, b in pairwise(risks))
        assert float(risks[0]) == pytest.approx(float(sf.Mean()(*args)), abs=1e-5)
        if divergence == "total-variation":
            assert float(risks[-1]) == float(sf.WorstCase()(*args))
        else:
            most = sf.DistributionallyRobust(1e6, divergence)
            assert float(most(*args)) == pytest.approx(float(values.min()), abs=1e-9)

    def test_values_without_probability_do_not_count(self, divergence):
        risk, weights = sf.DistributionallyRobust(0.2, divergence), tensor([0.5, 0.0, 0.5, 0.0])
        with_them = risk(tensor([1.0, -9.0, 2.0, 9.0]), weights)
        without = risk(tensor([1.0, 2.0]), tensor([0.5, 0.5]))
        assert float(with_them) == pytest.approx(float(without), abs=1e-12)
        assert float(risk(tensor([3.0, 3.0]), tensor([0.5, 0.5]))) == pytest.approx(3.0, abs=1e-12)

    def test_the_interval_of_some_environment_is_as_wide_as_its_own(self, divergence):
        """Proposition 5, and monotone bounds, on many functions at once."""
        generator = torch.Generator().manual_seed(1)
        weights = torch.tensor([0.1, 0.0, 0.4, 0.2, 0.3], dtype=torch.float64)
        middle, gap = torch.randn(2, 200, 5, generator=generator, dtype=torch.float64)
        lower, upper = middle - gap.abs(), middle + gap.abs() * (gap > 0.0)
        risk = sf.DistributionallyRobust(0.25, divergence)
        width = risk(upper, weights) - risk(lower, weights)
        assert float(width.min()) >= -1e-12
        mask = risk.lacing(lower, upper, weights)
        assert bool(mask.any(-1).all())
        assert not bool(mask[:, 1].any())
        narrowest = (upper - lower).masked_fill(~mask, torch.inf).amin(-1)
        assert bool((narrowest >= width - 1e-9).all())

    def test_its_derivative_is_the_worst_law(self, divergence):
        values, weights, radius = case(1)
        risk, at = (
            sf.DistributionallyRobust(radius, divergence),
            tensor(values).clone().requires_grad_(),
        )
        risk(at, tensor(weights)).backward()
        step = 1e-6
        for index in range(len(values)):
            apart = tensor(values).clone()
            apart[index] += step
            slope = float(risk(apart, tensor(weights)) - risk(at.detach(), tensor(weights))) / step
            assert float(at.grad[index]) == pytest.approx(slope, abs=1e-3)


def test_the_chi_squared_ball_trades_the_mean_against_the_deviation():
    values, weights = tensor([1.0, 2.0, 3.0, 4.0]), torch.full((4,), 0.25, dtype=torch.float64)
    found = float(sf.DistributionallyRobust(0.1, "chi-squared")(values, weights))
    assert found == pytest.approx(2.5 - math.sqrt(0.1 * 1.25), abs=1e-12)


def test_the_ball_of_a_sample_holds_the_law_as_often_as_it_says():
    rng, law, size, held = np.random.default_rng(0), np.array([0.5, 0.3, 0.2]), 60, 0
    radius = sf.DistributionallyRobust.of_sample(size, 3, delta=0.1).radius
    assert radius == pytest.approx(math.sqrt(math.log(6.0 / 0.1) / (2 * size)), rel=1e-12)
    for _ in range(500):
        frequencies = rng.multinomial(size, law) / size
        held += 0.5 * np.abs(frequencies - law).sum() <= radius
    assert held >= 450
    assert sf.DistributionallyRobust.of_sample(1, 900).radius == 1.0
    assert math.isfinite(sf.DistributionallyRobust.of_sample(10**6, 5000).radius)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"radius": 1.5}, "radius"),
        ({"radius": 0.0, "divergence": "chi-squared"}, "radius"),
        ({"radius": 0.1, "divergence": "wasserstein"}, "kullback-leibler"),
    ],
)
def test_what_is_out_of_range_is_refused(options, named):
    with pytest.raises(sf.InvalidInput, match=named):
        sf.DistributionallyRobust(**options)


def test_an_optimizer_finds_the_design_that_is_best_under_a_shift():
    """The mean prefers x = 1, where half of the environments are bad."""
    load = sf.FiniteEnvironment([0.0, 1.0], [0.8, 0.2])
    space = sf.Joint(sf.Arms([[0.0], [1.0]]), load)
    kernel = sf.kernels.squared_exponential([0.3, 0.3])
    best = {}
    for risk in (sf.Mean(), sf.DistributionallyRobust(0.3)):
        optimizer = sf.Optimizer(space, kernel, risk=risk, ridge=0.01)
        for _ in range(12):
            query = optimizer.ask()
            x, z = float(query.point), float(query.environment)
            optimizer.tell(query, x * (1.0 - 3.0 * z))
        best[risk] = float(optimizer.recommend().point)
    assert list(best.values()) == [1.0, 0.0]

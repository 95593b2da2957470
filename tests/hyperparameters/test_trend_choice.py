"""Which multiple of an earlier function few rewards support."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.hyperparameters.trend_choice import _slope

BOX = sf.Box([0.0, 0.0], [1.0, 1.0])
NOISE = 0.02


def function(points: np.ndarray) -> np.ndarray:
    return -((points - [0.3, 0.7]) ** 2).sum(-1)


def measured(number: int, seed: int, unit: float = 1.0, **given) -> sf.Optimizer:
    generator = np.random.default_rng(seed)
    points = generator.random((number, 2))
    rewards = function(points) + NOISE * generator.standard_normal(number)
    optimizer = sf.algorithms.robust_ucb(sf.Problem(BOX, **given), seed=0)
    optimizer.tell_all(points, unit * (rewards + 5.0))
    return optimizer


@pytest.mark.parametrize("number", [5, 6, 9, 30])
def test_no_two_rewards_are_the_same_beside_the_slope(number: int) -> None:
    for seed in range(20):
        means, noise = torch.randn(
            2, number, generator=torch.Generator().manual_seed(seed)
        ).double()
        rewards = 2.0 * means + 0.3 * noise
        apart = (rewards - _slope(means, rewards) * means).sort().values.diff()
        assert float(apart.min()) > 1e-9


def test_a_slope_is_exact_without_noise_and_beside_outliers() -> None:
    means = torch.linspace(-1.0, 2.0, 12, dtype=torch.float64)
    rewards = 3.0 * means + 7.0
    assert _slope(means, rewards) == pytest.approx(3.0, rel=1e-12)
    rewards[3] = 1e6
    assert _slope(means, rewards) == pytest.approx(3.0, rel=1e-12)
    assert _slope(means, -rewards) == 0.0
    assert _slope(torch.ones(4, dtype=torch.float64), rewards[:4]) == 0.0


@pytest.mark.long
@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_intervals_hold_after_few_rewards(unit: float) -> None:
    """The function of an earlier run of the same noise, in its own units and in others."""
    at = np.random.default_rng(9).random((100, 2))
    holds = []
    for seed in range(12):
        prior = measured(30, seed, unit=unit).belief()
        _, lower, upper = measured(6, 1000 + seed, prior=prior).belief().predict(at)
        truth = torch.tensor(function(at) + 5.0)
        holds.append(float(((lower <= truth) & (truth <= upper)).double().mean()))
    assert np.mean(holds) > 0.88
    assert min(holds) > 0.3

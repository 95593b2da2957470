"""Hyperparameters are fitted in every round at first, and rarely later on."""

import numpy as np
import torch

import surefoot as sf
from surefoot.algorithms import robust_ucb
from surefoot.hyperparameters import HyperparameterFit
from surefoot.optimizer.fit_schedule import latest_fit

RULE = HyperparameterFit()
POINTS = torch.from_numpy(np.random.default_rng(0).random((40, 2)))
REWARDS = torch.sin(5.0 * POINTS).sum(-1) + 0.1 * torch.from_numpy(
    np.random.default_rng(1).standard_normal(40)
)


def told(number: int, rewards: torch.Tensor = REWARDS) -> sf.Optimizer:
    """A run whose rewards came one by one."""
    optimizer = robust_ucb(sf.Box([0.0, 0.0], [1.0, 1.0]), initial=4)
    for point, reward in zip(POINTS[:number], rewards[:number].tolist(), strict=True):
        optimizer.tell(point, reward)
    return optimizer


def test_what_is_fitted_to_does_not_depend_on_when_it_was_told() -> None:
    one_by_one = 0
    for number in range(1, 400):
        one_by_one = latest_fit(RULE.is_due, number, one_by_one)
        assert latest_fit(RULE.is_due, number) == one_by_one
        assert number - one_by_one <= (0.1 * one_by_one if one_by_one >= 30 else 0)


def test_beyond_thirty_rewards_most_rounds_fit_nothing() -> None:
    fits = [number for number in range(1, 161) if latest_fit(RULE.is_due, number) == number]
    assert fits[:30] == [*range(1, 31)]
    assert fits[30:] == [34, 38, 42, 47, 52, 58, 64, 71, 79, 87, 96, 106, 117, 128, 139, 150]


def test_between_fits_the_same_rewards_give_the_same_belief() -> None:
    at_once = robust_ucb(sf.Box([0.0, 0.0], [1.0, 1.0]), initial=4)
    at_once.tell_all(POINTS[:33], REWARDS[:33])
    beliefs = [one.belief() for one in (told(33), at_once)]
    for left, right in zip(*(one.joint(POINTS) for one in beliefs), strict=True):
        torch.testing.assert_close(left, right, rtol=1e-12, atol=1e-12)


def test_a_spike_between_fits_is_an_outlier_at_once() -> None:
    rewards = REWARDS.clone()
    rewards[32] = 50.0
    optimizer = told(33, rewards)
    weights = optimizer.belief().weights
    assert float(weights[32]) < 0.01
    assert float(weights[:32].median()) > 0.5
    assert abs(optimizer.recommend().value - told(33).recommend().value) < 0.2

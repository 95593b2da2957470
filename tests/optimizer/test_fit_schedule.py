"""Hyperparameters are fitted in every round at first, and rarely later on."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.algorithms import robust_ucb
from surefoot.hyperparameters import GivenHyperparameters, HyperparameterFit
from surefoot.optimizer.history import latest_fit

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


def fitted_is_due(number: int, before: int, every: int = 1) -> bool:
    """Each reward up to 30, then a tenth more, and ten more up to 1,000, then a hundredth more."""
    new, least = number - before, min(0.1 * before, 10) if before >= 30 else 0
    return before == 0 or (new >= every and new > max(0.01 * before, least))


def standardised_is_due(number: int, before: int) -> bool:
    return number > 1.01 * before if before > 1000 else number != before


def given_is_due(number: int, before: int) -> bool:
    return before == 0


KERNEL = sf.kernels.squared_exponential(0.2)
SCHEDULES: dict[str, tuple[Any, Callable[[int, int], bool]]] = {
    "fitted": (HyperparameterFit(), fitted_is_due),
    "fitted, every third": (HyperparameterFit(every=3), partial(fitted_is_due, every=3)),
    "fitted, every fiftieth": (HyperparameterFit(every=50), partial(fitted_is_due, every=50)),
    "given": (GivenHyperparameters(KERNEL, 1.0), given_is_due),
    "standardised": (GivenHyperparameters(KERNEL, 1.0, standardise=True), standardised_is_due),
}


def scanned(is_due: Callable[[int, int], bool], number: int, before: int) -> int:
    """The latest fit, if each reward is asked whether one is due."""
    latest = before
    for now in range(before + 1, number + 1):
        if is_due(now, latest):
            latest = now
    return number if before == 0 and number - latest > 0.1 * number else latest


@pytest.mark.long
@pytest.mark.parametrize("name", SCHEDULES)
def test_the_next_fit_is_where_a_scan_of_all_rewards_finds_it(name: str) -> None:
    rule, is_due = SCHEDULES[name]
    for before in range(301):
        for more in (1, 2, 3, 10, 64, 65, 300):
            expected = scanned(is_due, before + more, before)
            assert latest_fit(rule.next_due, before + more, before) == expected
    for before in (999, 1000, 1001, 1100, 5000, 12345):
        for number in range(before + 1, before + 200):
            assert latest_fit(rule.next_due, number, before) == scanned(is_due, number, before)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_is_asked_for_few_fits_however_many_rewards_there_are(name: str) -> None:
    rule, asked = SCHEDULES[name][0], []

    def next_due(before: int) -> float:
        asked.append(before)
        return rule.next_due(before)

    number = latest_fit(next_due, 100_000)
    before = len(asked)
    assert before < 2_000  # one for each fit
    latest_fit(next_due, 100_001, number)
    assert len(asked) - before <= 2


def test_what_is_fitted_to_does_not_depend_on_when_it_was_told() -> None:
    one_by_one = 0
    for number in range(1, 400):
        one_by_one = latest_fit(RULE.next_due, number, one_by_one)
        assert latest_fit(RULE.next_due, number) == one_by_one
        assert number - one_by_one <= (0.1 * one_by_one if one_by_one >= 30 else 0)


def test_beyond_thirty_rewards_most_rounds_fit_nothing() -> None:
    fits = [number for number in range(1, 161) if latest_fit(RULE.next_due, number) == number]
    assert fits[:30] == [*range(1, 31)]
    assert fits[30:] == [34, 38, 42, 47, 52, 58, 64, 71, 79, 87, 96, 106, 117, 128, 139, 150]


@pytest.mark.long
def test_between_fits_the_same_rewards_give_the_same_belief() -> None:
    at_once = robust_ucb(sf.Box([0.0, 0.0], [1.0, 1.0]), initial=4)
    at_once.tell_all(POINTS[:33], REWARDS[:33])
    beliefs = [one.belief() for one in (told(33), at_once)]
    for left, right in zip(*(one.posterior.joint(POINTS) for one in beliefs), strict=True):
        torch.testing.assert_close(left, right, rtol=1e-12, atol=1e-12)


@pytest.mark.long
def test_a_spike_between_fits_is_an_outlier_at_once() -> None:
    rewards = REWARDS.clone()
    rewards[32] = 50.0
    optimizer = told(33, rewards)
    weights = optimizer.belief().weights
    assert float(weights[32]) < 0.01
    assert float(weights[:32].median()) > 0.5
    assert abs(optimizer.recommend().value - told(33).recommend().value) < 0.2

"""Rewards drawn for a whole run at once are those that arms pay one by one."""

import numpy as np
import pytest
import torch

from surefoot_experiments.papers.arm_runs import checkpoints, milestones, rewards
from surefoot_experiments.problems import corrupted_arms, noisy_arms, pareto_arms, resampled_arms

ROUNDS = 50


@pytest.mark.parametrize("make", [noisy_arms, pareto_arms, corrupted_arms])
def test_an_arm_pays_what_its_law_says(make):
    problem = make(np.random.default_rng(0), arms=10)
    for arm in range(10):
        expected = problem.measure_all([arm] * ROUNDS, np.random.default_rng(1))
        pay = rewards(problem, ROUNDS, np.random.default_rng(1))
        paid = torch.tensor([pay(arm, turn) for turn in range(ROUNDS)], dtype=torch.float64)
        torch.testing.assert_close(paid, expected, rtol=1e-15, atol=1e-15)


def test_recorded_rows_are_drawn_round_by_round():
    rows = torch.from_numpy(np.random.default_rng(0).normal(size=(30, 4)))
    problem = resampled_arms("rows", rows)
    pay = rewards(problem, ROUNDS, np.random.default_rng(1))
    expected = problem.measure_all([2] * ROUNDS, np.random.default_rng(1))
    assert [pay(2, turn) for turn in range(ROUNDS)] == expected.tolist()


@pytest.mark.parametrize("rounds", [1, 2, 19, 20, 21, 100, 20_000])
def test_milestones_are_kept(rounds):
    kept = checkpoints(rounds)
    assert set(milestones(rounds)) <= kept
    assert max(kept) == rounds
    assert min(kept) == 1
    assert len(kept) <= 150

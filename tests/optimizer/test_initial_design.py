"""What is shown while the initial design is measured, when fits of a run are rare."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

import surefoot as sf
from surefoot.algorithms import robust_ucb

REWARDS = [0.52, 0.31, 0.72, 0.95, 0.36, 0.42, 0.77]


def told(rewards: list[float], at_once: bool) -> sf.Optimizer:
    optimizer = robust_ucb(sf.Box([0.0], [1.0]), seed=0)
    failed, *queries = (optimizer.ask() for _ in range(1 + len(rewards)))
    optimizer.forget(failed)
    if at_once:
        optimizer.tell_all(queries, rewards)
    else:
        for query, reward in zip(queries, rewards, strict=True):
            optimizer.tell(query, reward)
    return optimizer


def shown(optimizer: sf.Optimizer) -> list[float]:
    found, points = optimizer.recommend(), torch.linspace(0, 1, 5, dtype=torch.float64)[:, None]
    mean, deviation = optimizer.belief().posterior.mean_and_deviation(points)
    fitted = optimizer.belief().outcome.fitted
    assert fitted is not None
    ends = [*found.point, found.value, found.lower, found.upper, fitted.noise, fitted.scale]
    return [float(value) for value in (*ends, *mean, *deviation, *optimizer.belief().weights)]


@pytest.mark.long
@pytest.mark.parametrize("number", range(1, len(REWARDS) + 1))
def test_it_does_not_depend_on_when_rewards_were_told(number: int) -> None:
    rewards = REWARDS[:number]
    assert shown(told(rewards, False)) == pytest.approx(shown(told(rewards, True)), abs=1e-12)


@pytest.mark.long
def test_a_look_leaves_no_trace(tmp_path: Path) -> None:
    watched, alone = (robust_ucb(sf.Box([0.0], [1.0]), seed=0) for _ in range(2))
    for reward in [*REWARDS, *REWARDS[:4]]:
        queries = [optimizer.ask() for optimizer in (watched, alone)]
        assert torch.equal(queries[0].point, queries[1].point)
        for optimizer, query in zip((watched, alone), queries, strict=True):
            optimizer.tell(query, reward)
        watched.save(tmp_path / "before")
        assert all(map(math.isfinite, shown(watched)))
        watched.save(tmp_path / "after")
        assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()


@pytest.mark.long
@pytest.mark.parametrize("arms", [3, 6])
def test_a_run_on_fewer_arms_than_the_initial_design_can_be_continued(
    arms: int, tmp_path: Path
) -> None:
    line = torch.linspace(0.0, 1.0, arms, dtype=torch.float64)[:, None]
    optimizer = robust_ucb(sf.Arms(line), seed=1)
    for _ in range(arms - 1):
        query = optimizer.ask()
        optimizer.tell(query, -((float(query.point) - 0.3) ** 2))
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    for reward in (REWARDS * 2)[:10]:
        for one in (optimizer, loaded):
            one.tell(one.ask(), reward)
        assert str(loaded.recommend()) == str(optimizer.recommend())

"""Weights of many rewards, which are renewed part by part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.estimators import digest, student_t
from surefoot.regression import known_features

SITES = torch.from_numpy(np.random.default_rng(0).random((270, 2)))
NOISE = 0.1 * np.random.default_rng(1).standard_t(2.0, 270)
REWARDS = torch.sin(5.0 * SITES).sum(-1) + torch.from_numpy(NOISE)
SPIKES = {150: 30.0, 210: -20.0, 230: 60.0}


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (digest, student_t):
        monkeypatch.setattr(module, "ALL_KEPT", 100)
    monkeypatch.setattr(student_t, "ROWS_AT_ONCE", 64)
    monkeypatch.setattr(student_t, "NEW_SHARE", 10.0)  # never again, after the first time
    monkeypatch.setattr(known_features, "ROWS_AT_ONCE", 64)


def optimizer() -> sf.Optimizer:
    return sf.Optimizer(
        sf.Box([0.0, 0.0], [1.0, 1.0]),
        sf.Method(
            sf.kernels.squared_exponential(0.4),
            features=sf.Dictionary(SITES[:20]),
            estimator=sf.StudentT(passes=30, tolerance=1e-6),
            ridge=0.01,
        ),
    )


def tell(run: sf.Optimizer, number: int) -> None:
    run.tell(SITES[number], float(REWARDS[number]) + SPIKES.get(number, 0.0))


@pytest.mark.long
def test_they_are_close_to_those_found_together() -> None:
    parts, together = optimizer(), optimizer()
    for number in range(240):
        tell(parts, number)
        tell(together, number)
        if number >= 200:
            parts._history.selection()
    found, expected = parts.belief(), together.belief()
    assert not torch.equal(found.weights, expected.weights)
    torch.testing.assert_close(found.weights, expected.weights, atol=0.01, rtol=0.0)
    mean, deviation = expected.posterior.mean_and_deviation(SITES)
    assert float(((found.posterior.mean(SITES) - mean).abs() / deviation).max()) < 0.05
    assert all(float(found.weights[spike]) < 0.01 for spike in SPIKES)


def test_only_weights_of_a_part_and_of_what_is_new_change() -> None:
    run = optimizer()
    for number in range(250):
        tell(run, number)
    run._history.selection()
    before = run._history.regressor.state.weights
    tell(run, 250)
    run._history.selection()
    after = run._history.regressor.state.weights
    changed = (after[:250] != before).nonzero()[:, 0]
    assert len(after) == 251
    assert set((changed // 64).tolist()) <= {0, 3}  # whose turn it is, and where the new one is


@pytest.mark.long
def test_a_run_in_between_is_the_same_after_save_and_load(tmp_path: Path) -> None:
    run = optimizer()
    for number in range(160):
        tell(run, number)
        if number >= 155:
            run._history.selection()
    run.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    for number in range(160, 163):
        for one in (run, loaded):
            tell(one, number)
        assert torch.equal(run.ask().point, loaded.ask().point)
        assert torch.equal(
            run.belief().posterior.mean(SITES), loaded.belief().posterior.mean(SITES)
        )

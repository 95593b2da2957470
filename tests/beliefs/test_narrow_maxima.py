"""Beliefs of functions with a maximum that is narrow beside the distance of the measurements."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

import surefoot as sf
from surefoot.integrations.botorch import RobustGP

SQUARE = sf.Box([0.0, 0.0], [1.0, 1.0])
AT = torch.tensor([[0.6, 0.6], [0.2, 0.3]], dtype=torch.float64)


def table() -> tuple[Tensor, Tensor]:
    """A Sobol sample of a nearly flat function with a peak of 6, with five spikes."""
    sobol = torch.quasirandom.SobolEngine(2, scramble=True, seed=0)
    points = sobol.draw(250, dtype=torch.float64)
    noise = torch.randn(250, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rewards = 0.3 * torch.sin(4.0 * points[:, 0]) + 0.1 * noise
    rewards += 6.0 * torch.exp(-0.5 * ((points - 0.6) / 0.06).square().sum(-1))
    rewards[torch.tensor([3, 50, 99, 170, 240])] += 8.0
    return points, rewards


def run(points: Tensor, rewards: Tensor) -> sf.Optimizer:
    optimizer = sf.algorithms.robust_ucb(SQUARE, seed=0)
    optimizer.tell_all(points, rewards)
    return optimizer


@pytest.mark.long
def test_a_narrow_maximum_is_recommended_and_survives_saving(tmp_path: Path) -> None:
    optimizer = run(*table())
    best = optimizer.recommend()
    assert float((best.point - 0.6).norm()) < 0.05
    assert best.lower < 6.2 < best.upper
    belief = optimizer.belief()
    assert len(belief.outcome.fitted.part) > 0
    optimizer.save(tmp_path / "run.safetensors")
    loaded = sf.Optimizer.load(tmp_path / "run.safetensors")
    for one, other in zip(belief.predict(AT), loaded.belief().predict(AT), strict=True):
        assert torch.equal(one, other)
    assert torch.equal(optimizer.ask().point, loaded.ask().point)


@pytest.mark.long
def test_the_model_of_botorch_has_it_too() -> None:
    points, rewards = table()
    model = RobustGP(points, rewards[:, None])
    found = model.posterior(AT)
    mean, deviation = found.mean, found.variance.sqrt()
    assert float(mean[0]) > 3.0
    assert abs(float(mean[0]) - 6.2) < 2.5 * float(deviation[0])
    again = RobustGP(points, rewards[:, None])
    again.load_state_dict(model.state_dict())
    assert torch.equal(again.posterior(AT).mean, mean)
    more = model.condition_on_observations(AT[1:], mean[1:])
    assert bool(more.posterior(AT).mean.isfinite().all())

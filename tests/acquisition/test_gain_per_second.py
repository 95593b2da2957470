"""Gain of a measurement for the time that it takes."""

from __future__ import annotations

import math
from datetime import timedelta
from pathlib import Path
from typing import Any

import optuna
import pytest
import torch
from optuna.distributions import FloatDistribution
from optuna.trial import create_trial

import surefoot as sf
from surefoot.acquisition import GainPerSecond, UpperConfidenceBound
from surefoot.integrations.optuna import StudyEnvironment, SurefootSampler
from surefoot.integrations.optuna.trial_conditions import LOG_DURATION, log_duration_of

LINE = sf.Box([0.0], [1.0])
RANGES = {"x": FloatDistribution(0.0, 1.0)}
DURATION = "log seconds"


def told(seconds: list[float], outlier: float = 1.0) -> sf.Optimizer:
    """Equal rewards on a grid, and how long each took."""
    kernel = sf.kernels.squared_exponential(0.1)
    rule = GainPerSecond(DURATION, score=UpperConfidenceBound())
    optimizer = sf.algorithms.robust_ucb(
        LINE, kernel, ridge=0.01, policy=rule, outcomes={DURATION: sf.Watched()}
    )
    number = len(seconds)
    times = [one * (outlier if i == number // 4 else 1.0) for i, one in enumerate(seconds)]
    optimizer.tell_all(
        [[(i + 0.5) / number] for i in range(number)],
        [1.0 - (i % 2) for i in range(number)],
        outcomes=[{DURATION: math.log(one)} for one in times],
    )
    return optimizer


def scores(optimizer: sf.Optimizer, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Per second, and as it is."""
    belief, generator = optimizer.belief(), torch.Generator().manual_seed(0)
    rule = GainPerSecond(DURATION, score=UpperConfidenceBound())
    return rule(belief, generator)(x), UpperConfidenceBound()(belief, generator)(x)


@pytest.mark.parametrize("outlier", [1.0, 300.0])
def test_gains_are_divided_by_the_duration(outlier: float) -> None:
    optimizer = told([10.0 ** ((i + 0.5) / 12) for i in range(12)], outlier)
    x = torch.linspace(0.05, 0.95, 10, dtype=torch.float64).unsqueeze(-1)
    found, plain = scores(optimizer, x)
    best = optimizer.belief().mean(optimizer.belief().designs).max()
    gain, per_second = plain - best, found - best
    above = gain > 0.0
    assert int(above.sum()) >= 4
    assert torch.equal(per_second[~above], gain[~above])
    relative = (gain / per_second)[above].log() / math.log(10.0)
    wanted = x[above, 0] - 0.5
    assert float((relative - wanted).abs().max()) < 0.15  # though one took 300 times as long


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [[3.0] * 12, [1.0, 10.0, 5.0, 2.0], [1.0, 10.0] * 6 + [1.0]])
def test_equal_or_few_durations_and_every_second_round_change_nothing(seconds: list[float]) -> None:
    optimizer = told(seconds)
    x = torch.linspace(0.0, 1.0, 9, dtype=torch.float64).unsqueeze(-1)
    found, plain = scores(optimizer, x)
    torch.testing.assert_close(found, plain, rtol=1e-6, atol=1e-6)


def test_the_unit_of_time_does_not_matter_and_a_run_is_saved(tmp_path: Path) -> None:
    optimizer = told([10.0 ** (i / 11) for i in range(12)])
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    other = told([1024.0 * 10.0 ** (i / 11) for i in range(12)])
    asked = [one.ask().point for one in (optimizer, loaded, other)]
    assert torch.equal(asked[0], asked[1])
    assert float(asked[0] - asked[2]) == pytest.approx(0.0, abs=1e-4)


def finished(x: float, seconds: float) -> optuna.trial.FrozenTrial:
    trial = create_trial(params={"x": x}, distributions=RANGES, value=(x - 0.5) ** 2)
    trial.datetime_complete = trial.datetime_start + timedelta(seconds=seconds)  # type: ignore[operator]
    return trial


@pytest.mark.parametrize(("seconds", "known"), [(4.0, True), (0.0, False), (-3.0, False)])
def test_a_trial_that_was_added_has_no_duration(seconds: float, known: bool) -> None:
    found = log_duration_of(finished(0.2, seconds))
    assert found == ({LOG_DURATION: math.log(4.0)} if known else {})
    trial = finished(0.2, seconds)
    trial.datetime_start = None
    assert log_duration_of(trial) == {}


def test_durations_of_trials_are_modelled() -> None:
    sampler = SurefootSampler(seed=0, search_space=RANGES, per_second=True)
    study = optuna.create_study(sampler=sampler)
    for i in range(12):
        study.add_trial(finished((i + 0.5) / 12, 2.0 * 10.0 ** (i / 11)))
    belief = sampler.belief(study).belief
    durations = belief.outcomes[LOG_DURATION]
    x = torch.tensor([[0.1], [0.9]], dtype=torch.float64)
    low, high = durations.transform.inverse(durations.posterior.mean(x)).exp().tolist()
    assert 1.8 < low < 3.5
    assert 12.0 < high < 22.0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"per_second": 3}, "per_second"),
        (
            {
                "environment": StudyEnvironment("z", sf.FiniteEnvironment([0.0, 1.0])),
                "risk": sf.Mean(),
            },
            "`per_second` came with an `environment`",
        ),
        ({"fidelity": {"s": sf.Fidelity([1, 2], [1, 2])}}, "`per_second` came with an `fidelity`"),
    ],
)
def test_what_does_not_go_together_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(sf.InvalidInput, match=message):
        SurefootSampler(**{"per_second": True, **more})


def test_several_objectives_are_refused() -> None:
    study = optuna.create_study(
        directions=["minimize"] * 2, sampler=SurefootSampler(per_second=True)
    )
    with pytest.raises(sf.InvalidInput, match="`per_second` came with a study of 2"):
        study.ask()

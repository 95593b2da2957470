"""Studies do not depend on settings of the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optuna
import pytest
import torch

from support.process_settings import default_dtype
from support.samplers import largest_gains
from surefoot.integrations.optuna import SurefootSampler


def measured(trial: optuna.Trial) -> float:
    x, kind = trial.suggest_float("x", 0.0, 1.0), trial.suggest_categorical("kind", ["a", "b"])
    trial.set_constraint("limit", x - 0.9)
    return (x - 0.4) ** 2 + 0.1 * (kind == "b")


def play(setting: Callable[[], Any]) -> list[Any]:
    """Trials and predictions of a study that is optimised and looked at under a setting."""
    study = optuna.create_study(sampler=SurefootSampler(seed=1))
    other = {"x": 0.9, "kind": "b"}
    with setting():
        study.optimize(measured, n_trials=13)
        belief = study.sampler.belief(study)
        best = belief.recommend()
        found = [
            best,
            belief.difference(best.params, other),
            largest_gains(belief, other).tolist(),
            [one.tolist() for one in belief.predict([other])],
            belief.constraints(other),
        ]
    return [trial.params for trial in study.trials] + found


@pytest.mark.long
def test_a_study_is_the_same_under_any_setting() -> None:
    usual = play(torch.enable_grad)
    for setting in (torch.inference_mode, default_dtype, lambda: torch.device("meta")):
        assert play(setting) == usual

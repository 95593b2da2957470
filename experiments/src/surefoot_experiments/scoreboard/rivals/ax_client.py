"""Ax with its default generation strategy."""

from __future__ import annotations

import math
from typing import Any

import torch
from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

from surefoot_experiments.scoreboard.space import Parameter, Point, Space

PACKAGES = ("ax-platform", "botorch", "torch")
LOSS = "loss"


class Ax:
    """An Ax client; recommends what its model predicts to be best."""

    def __init__(self, space: Space, seed: int) -> None:
        torch.manual_seed(seed)
        self._client = Client(random_seed=seed)
        self._client.configure_experiment(
            parameters=[_configuration(each) for each in space.parameters]
        )
        self._client.configure_optimization(objective=f"-{LOSS}")
        self._last = space.decode([0.5] * space.width)

    def ask(self) -> Point:
        """The next trial's parameters."""
        ((self._trial, point),) = self._client.get_next_trials(max_trials=1).items()
        return dict(point)

    def tell(self, point: Point, value: float) -> None:
        """Complete the trial, or mark it as failed."""
        if math.isnan(value):
            self._client.mark_trial_failed(self._trial)
        else:
            self._client.complete_trial(self._trial, raw_data={LOSS: value})

    def recommend(self) -> Point:
        """`get_best_parameterization`, with the model's predictions."""
        best, *_ = self._client.get_best_parameterization(use_model_predictions=True)
        self._last = dict(best)
        return self._last


def _configuration(parameter: Parameter) -> Any:
    settings: Any = parameter
    if parameter.kind == "categorical":
        return ChoiceParameterConfig(
            name=parameter.name,
            values=list(settings.choices),
            parameter_type="str",
            is_ordered=False,
        )
    return RangeParameterConfig(
        name=parameter.name,
        bounds=(settings.low, settings.high),
        parameter_type="int" if parameter.kind == "integer" else "float",
        scaling="log" if settings.log else "linear",
    )


def create(space: Space, seed: int, budget: int) -> Ax:
    """A run of Ax."""
    return Ax(space, seed)

"""Optuna's samplers: TPE, the Gaussian process and CMA-ES."""

from __future__ import annotations

import math
from typing import Any

import optuna

from surefoot_experiments.scoreboard.space import Parameter, Point, Space

PACKAGES = ("optuna",)


class Study:
    """A study that is asked and told; recommends `best_params`, as its user gets it."""

    def __init__(self, space: Space, sampler: Any) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.sampler = sampler
        self.study = optuna.create_study(sampler=sampler)
        self._distributions = {each.name: distribution(each) for each in space.parameters}
        self._middle = space.decode([0.5] * space.width)

    def ask(self) -> Point:
        """The next trial's parameters."""
        self._trial = self.study.ask(self._distributions)
        return dict(self._trial.params)

    def tell(self, point: Point, value: float) -> None:
        """Complete the trial, or let it fail."""
        if math.isnan(value):
            self.study.tell(self._trial, state=optuna.trial.TrialState.FAIL)
        else:
            self.study.tell(self._trial, value)

    def recommend(self) -> Point:
        """`best_params`; the middle of the space while every trial has failed."""
        try:
            return dict(self.study.best_params)
        except ValueError:
            return self._middle


def distribution(parameter: Parameter) -> Any:
    """A parameter as Optuna describes it."""
    if parameter.kind == "categorical":
        return optuna.distributions.CategoricalDistribution(parameter.choices)  # type: ignore[attr-defined]
    family = {
        "float": optuna.distributions.FloatDistribution,
        "integer": optuna.distributions.IntDistribution,
    }[parameter.kind]
    return family(parameter.low, parameter.high, log=parameter.log)  # type: ignore[attr-defined]


def create(space: Space, seed: int, budget: int, sampler: str) -> Study:
    """A study with the sampler `tpe`, `gp` or `cma`."""
    if sampler == "gp":
        import torch

        torch.manual_seed(seed)
    makers = {
        "tpe": lambda: optuna.samplers.TPESampler(seed=seed),
        "gp": lambda: optuna.samplers.GPSampler(seed=seed, deterministic_objective=False),
        "cma": lambda: optuna.samplers.CmaEsSampler(seed=seed),
    }
    return Study(space, makers[sampler]())

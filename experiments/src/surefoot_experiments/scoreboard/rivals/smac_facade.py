"""SMAC3: random forests, and racing of configurations over seeds."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

from ConfigSpace import Categorical, ConfigurationSpace, Float, Integer
from smac import HyperparameterOptimizationFacade, Scenario
from smac.runhistory import StatusType, TrialValue
from smac.runhistory.encoder.encoder import RunHistoryEncoder

from surefoot_experiments.scoreboard.space import Parameter, Point, Space

PACKAGES = ("smac", "ConfigSpace", "scikit-learn")


class Smac:
    """The facade for hyperparameters with its defaults; recommends the incumbent.

    Costs are used as they are, since the facade's own logarithm takes all negative ones as equal. A
    crash costs as much as the largest cost so far.
    """

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        self._folder = tempfile.TemporaryDirectory()
        configurations = ConfigurationSpace(seed=seed)
        configurations.add([_hyperparameter(each) for each in space.parameters])
        scenario = Scenario(
            configurations,
            deterministic=False,
            n_trials=budget,
            seed=seed,
            output_directory=Path(self._folder.name),
        )
        self._facade = HyperparameterOptimizationFacade(
            scenario,
            lambda config, seed: 0.0,
            runhistory_encoder=RunHistoryEncoder(scenario),
            overwrite=True,
            logging_level=False,
        )
        self._worst = -math.inf
        self._last = space.decode([0.5] * space.width)

    def ask(self) -> Point:
        """The configuration of the next trial, which may be a repetition under another seed."""
        self._trial = self._facade.ask()
        return _plain(self._trial.config)

    def tell(self, point: Point, value: float) -> None:
        """The cost of the trial, or that it crashed."""
        crashed = math.isnan(value)
        status = StatusType.CRASHED if crashed else StatusType.SUCCESS
        self._worst = self._worst if crashed else max(self._worst, value)
        cost = value if not crashed else self._worst if math.isfinite(self._worst) else 0.0
        self._facade.tell(self._trial, TrialValue(cost=cost, status=status), save=False)

    def recommend(self) -> Point:
        """The incumbent of the race."""
        incumbent = self._facade.intensifier.get_incumbent()
        self._last = self._last if incumbent is None else _plain(incumbent)
        return self._last


def _plain(configuration: Any) -> Point:
    """A configuration with plain values of Python."""
    return {
        name: value.item() if hasattr(value, "item") else value
        for name, value in dict(configuration).items()
    }


def _hyperparameter(parameter: Parameter) -> Any:
    settings: Any = parameter
    if parameter.kind == "categorical":
        return Categorical(parameter.name, list(settings.choices))
    family = Integer if parameter.kind == "integer" else Float
    return family(parameter.name, (settings.low, settings.high), log=settings.log)


def create(space: Space, seed: int, budget: int) -> Smac:
    """A run of SMAC."""
    return Smac(space, seed, budget)

"""Ax's `Client` as it comes, as an Optuna sampler over parameters in [0, 1]."""

from __future__ import annotations

import logging
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from surefoot_experiments.benchmarks.fronts import DIMENSION


class AxSampler(BaseSampler):
    """Trials of Ax for several objectives that are minimised; the package `ax-platform`.

    Args:
        seed: Seed of the client.
    """

    def __init__(self, seed: int) -> None:
        from ax.api.client import Client
        from ax.api.configs import RangeParameterConfig

        logging.getLogger("ax").setLevel(logging.ERROR)
        self._client = Client(random_seed=seed)
        unit = {"bounds": (0.0, 1.0), "parameter_type": "float"}
        parameters = [RangeParameterConfig(name=f"x{i}", **unit) for i in range(DIMENSION)]
        self._client.configure_experiment(parameters=parameters)
        self._index, self._next = 0, dict[str, float]()

    def front(self) -> list[int]:
        """Numbers of the trials on the front that the client predicts."""
        return sorted({int(one[2]) for one in self._client.get_pareto_frontier()})

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        return {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return {}

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        if not self._next:  # the first trial, before which the objectives are not known
            names = (f"-f{i}" for i in range(len(study.directions)))
            self._client.configure_optimization(objective=", ".join(names))
        ((self._index, self._next),) = self._client.get_next_trials(max_trials=1).items()

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> float:
        return self._next[param_name]

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Any) -> None:
        measured = {f"f{i}": float(value) for i, value in enumerate(values)}
        self._client.complete_trial(self._index, raw_data=measured)

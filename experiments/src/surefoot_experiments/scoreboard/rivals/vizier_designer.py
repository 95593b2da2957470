"""Google Vizier's default algorithm, GP-UCB-PE."""

from __future__ import annotations

import math

import jax
from vizier import algorithms
from vizier import pyvizier as vz

# The public module imports every designer, and with them packages that this one does not need.
from vizier._src.algorithms.designers.gp_ucb_pe import VizierGPUCBPEBandit

from surefoot_experiments.scoreboard.space import Parameter, Point, Space

PACKAGES = ("google-vizier", "jax")
LOSS = "loss"

# In single precision its suggestions soon have no parameters.
jax.config.update("jax_enable_x64", True)


class Vizier:
    """A designer; recommends the best measurement, as a study's `optimal_trials`."""

    def __init__(self, space: Space, seed: int) -> None:
        problem = vz.ProblemStatement()
        for each in space.parameters:
            _add(problem.search_space.root, each)
        goal = vz.ObjectiveMetricGoal.MINIMIZE
        problem.metric_information.append(vz.MetricInformation(LOSS, goal=goal))
        self._designer = VizierGPUCBPEBandit(problem, rng=jax.random.PRNGKey(seed))
        self._best = space.decode([0.5] * space.width)
        self._lowest = math.inf
        self._told = 0

    def ask(self) -> Point:
        """The next suggestion."""
        (self._suggestion,) = self._designer.suggest(1)
        parameters = self._suggestion.parameters.as_dict()
        return dict(parameters)

    def tell(self, point: Point, value: float) -> None:
        """Complete the suggestion's trial, as infeasible if it crashed."""
        self._told += 1
        trial = self._suggestion.to_trial(self._told)
        if math.isnan(value):
            trial.complete(vz.Measurement(), infeasibility_reason="crashed")
        else:
            trial.complete(vz.Measurement({LOSS: value}))
            if value < self._lowest:
                self._best, self._lowest = point, value
        self._designer.update(algorithms.CompletedTrials([trial]), algorithms.ActiveTrials())

    def recommend(self) -> Point:
        """The point with the lowest measurement."""
        return self._best


def _add(root: vz.SearchSpaceSelector, parameter: Parameter) -> None:
    if parameter.kind == "categorical":
        root.add_categorical_param(parameter.name, list(parameter.choices))  # type: ignore[attr-defined]
        return
    low, high, log = parameter.low, parameter.high, parameter.log  # type: ignore[attr-defined]
    scale = vz.ScaleType.LOG if log else vz.ScaleType.LINEAR
    add = root.add_int_param if parameter.kind == "integer" else root.add_float_param
    add(parameter.name, low, high, scale_type=scale)


def create(space: Space, seed: int, budget: int) -> Vizier:
    """A run of Vizier."""
    return Vizier(space, seed)

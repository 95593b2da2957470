"""The unit of an objective and of its constraints changes nothing."""

import math

import optuna
import pytest

import surefoot as sf
from surefoot.integrations.optuna import CONSTRAINTS, SurefootSampler


def measured(unit: float, direction: str) -> list[list[float]]:
    """The parameters that are tried, and those that are recommended."""
    limits = {"load": sf.Constraint(maximum=1.2 * unit)}
    sampler = SurefootSampler(sf.Problem(outcomes=limits), seed=0, initial=3)
    study = optuna.create_study(sampler=sampler, direction=direction)

    def objective(trial: optuna.Trial) -> float:
        x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 1.0, 100.0, log=True)
        trial.set_user_attr(CONSTRAINTS, {"load": unit * (x + 0.5)})
        return unit * math.sin(5.0 * x) * math.log(y)

    study.optimize(objective, n_trials=6)
    best = sampler.belief(study).recommend()
    tried = [[*trial.params.values()] for trial in study.trials]
    return [*tried, [*best.params.values(), best.value / unit, best.feasibility]]


@pytest.mark.long
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_another_unit_gives_the_same_trials(direction: str) -> None:
    known = measured(1.0, direction)
    for unit in (2.0**-300, 2.0**300):
        assert measured(unit, direction) == known

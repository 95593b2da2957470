"""The standard error of a value, in the user attribute of its trial."""

import warnings

import optuna
import pytest
import torch

from surefoot.integrations.optuna import STANDARD_ERROR, SurefootSampler


def study_with(sems: list, direction: str = "minimize") -> optuna.Study:
    study = optuna.create_study(direction=direction, sampler=SurefootSampler(seed=0, initial=4))
    distribution = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    for number, sem in enumerate(sems):
        x = (number + 0.5) / len(sems)
        study.add_trial(
            optuna.trial.create_trial(
                params={"x": x},
                distributions=distribution,
                value=(x - 0.4) ** 2 - (1.0 if number == 8 else 0.0),
                user_attrs={} if sem is None else {STANDARD_ERROR: sem},
            )
        )
    return study


@pytest.mark.long
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_model_has_the_errors_of_the_trials(direction):
    sems = [0.01] * 8 + [1.5] + [None] * 3
    study = study_with(sems, direction)
    study.ask(study.trials[0].distributions)
    history = study.sampler._tracker.optimizer.history
    assert history.sems.tolist() == [sem or 0.0 for sem in sems]


def test_an_inaccurate_value_is_no_outlier_and_draws_no_recommendation():
    study = study_with([0.01] * 8 + [1.5] + [0.01] * 3)
    belief = study.sampler.belief(study)
    assert not belief.outliers[8]
    assert abs(belief.recommend().params["x"] - 0.4) < 0.1


@pytest.mark.daily(1)
@pytest.mark.parametrize("sem", [-0.5, float("nan"), "0.5", True])
def test_a_wrong_error_is_left_out_with_a_warning(sem):
    study = study_with([None] * 5 + [sem])
    with pytest.warns(UserWarning, match="trial 5 has the user attribute 'surefoot:sem' = "):
        study.ask(study.trials[0].distributions)
    assert torch.equal(study.sampler._tracker.optimizer.history.sems, torch.zeros(6).double())
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        study.ask(study.trials[0].distributions)  # each trial is read once


def test_errors_of_logarithms_are_relative():
    study = optuna.create_study(sampler=SurefootSampler(seed=0, initial=2, log=True))
    for value in (2.0, 8.0):
        study.add_trial(
            optuna.trial.create_trial(
                params={"x": value / 10.0},
                distributions={"x": optuna.distributions.FloatDistribution(0.0, 1.0)},
                value=value,
                user_attrs={STANDARD_ERROR: 0.4},
            )
        )
    study.ask(study.trials[0].distributions)
    assert study.sampler._tracker.optimizer.history.sems.tolist() == [0.2, 0.05]

"""Trials that end before they have asked for all parameters are measurements of what was chosen."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable

import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from optuna.trial import FixedTrial, create_trial

from surefoot.integrations.optuna import SurefootSampler
from surefoot.parameters import Choice, Float, Int, Space

SPACE = {
    "rate": FloatDistribution(1e-5, 1.0, log=True),
    "number": IntDistribution(1, 10),
    "share": FloatDistribution(0.0, 0.5),
}
FAR = 0.05  # rates beyond it end a trial


def at_all(trial, noise: float = 0.0) -> float:
    number, share = trial.suggest_int("number", 1, 10), trial.suggest_float("share", 0.0, 0.5)
    rate = trial.suggest_float("rate", 1e-5, 1.0, log=True)
    return 0.3 / (1 + 20 * rate) + 0.02 * (number - 6) ** 2 + (share - 0.2) ** 2 + noise


def ended(end: str) -> float:
    if end == "raise":
        raise RuntimeError("diverged")
    if end == "prune":
        raise optuna.TrialPruned
    return float(end)


def study_of(sampler, end: str, number: int) -> optuna.Study:
    noise = random.Random(0)

    def objective(trial):
        if trial.suggest_float("rate", 1e-5, 1.0, log=True) > FAR:
            return ended(end)
        return at_all(trial, noise.gauss(0.0, 0.02))

    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, number, catch=RuntimeError)
    return study


@pytest.mark.daily(3)
@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("end", ["2.0", "inf", "raise", "prune"])
def test_the_search_leaves_where_trials_end_early(end, declared):
    """Before, it stayed there to the end of the study: all of the last twelve trials."""
    sampler = SurefootSampler(seed=1, search_space=SPACE if declared else None)
    study = study_of(sampler, end, 30)
    assert sum(trial.params["rate"] > FAR for trial in study.trials[18:]) <= 6
    best = study.sampler.belief(study).recommend()
    assert {*best.params} == {*SPACE}
    assert best.params["rate"] <= FAR
    assert at_all(FixedTrial(best.params)) < 0.35


@pytest.mark.daily(2)
@pytest.mark.parametrize("end", ["2.0", "inf", "raise", "prune"])
def test_trials_of_other_samplers_that_end_early_are_not_recommended(end):
    study = study_of(RandomSampler(seed=3), end, 40)
    best = SurefootSampler().belief(study).recommend()
    assert best.params["rate"] <= FAR


@pytest.mark.daily(2)
@pytest.mark.parametrize("first", [False, True])
def test_one_trial_without_a_parameter_does_not_make_it_random(first):
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    whole = RandomSampler(seed=0)
    rows = optuna.create_study(sampler=whole)
    rows.optimize(lambda trial: ask_two(trial), 10)
    partial = create_trial(
        value=0.5, params={"x": 0.5}, distributions={"x": FloatDistribution(0.0, 1.0)}
    )
    study.add_trials([partial, *rows.trials] if first else [*rows.trials, partial])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.optimize(ask_two, 8)
    best = study.sampler.belief(study).recommend().params
    assert abs(best["x"] - 0.3) + abs(best["y"] - 0.7) < 0.1


def ask_two(trial) -> float:
    x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
    return (x - 0.3) ** 2 + (y - 0.7) ** 2


def threshold(trial) -> float:
    x = trial.suggest_float("x", 0.0, 1.0)
    if x <= 0.5:
        return 0.5 * (x - 0.75) ** 2 + 0.4
    return 0.5 * (x - 0.75) ** 2 + (trial.suggest_float("y", 0.0, 1.0) - 0.3) ** 2


def meeting(trial) -> float:
    first, second = (trial.suggest_categorical(name, ["p", "q", "r"]) for name in "ab")
    x = trial.suggest_float("x", 0.0, 1.0)
    if (first, second) == ("q", "q"):
        return (x - 0.5) ** 2 + (trial.suggest_float("y", 0.0, 1.0) - 0.25) ** 2 - 0.3
    return (x - 0.5) ** 2


@pytest.mark.daily(4)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("objective", [threshold, meeting])
def test_what_nothing_explains_is_recommended_where_it_can_be_asked_for(
    objective: Callable[..., float], seed: int
) -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=seed))
    study.optimize(objective, 30)
    best = SurefootSampler().belief(study).recommend()
    asked = FixedTrial(best.params)
    objective(asked)
    assert asked.params == best.params


def test_a_configuration_is_completed_by_what_was_chosen_or_a_fixed_value():
    space = Space(
        {
            "mode": Choice(["a", "b"]),
            "low": Float(0.0, 4.0, when="mode == 'a'"),
            "high": Int(1, 9, when="mode == 'b'"),
            "rest": Float(1.0, 100.0, log=True),
        }
    )
    completed = space.encoding.completed
    begun = {"mode": "a"}
    assert completed(begun, {"low": 3.0, "high": 2, "rest": 5.0}) == begun | {
        "low": 3.0,
        "rest": 5.0,
    }
    found = completed({"mode": "b", "rest": 2.0}, {"high": 50})  # of another range
    assert {**found, "high": 0} == {"mode": "b", "rest": 2.0, "high": 0}
    assert 1 <= found["high"] <= 9
    assert completed({"rest": 2.0}, {}).keys() == {"rest", "mode", "low"}
    whole = {"mode": "b", "high": 3, "rest": 1.0}
    assert completed(whole, {"low": 1.0}) == whole

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

from surefoot.integrations.optuna import SurefootSampler, annotated, belief
from surefoot.types import InvalidInput

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
def test_what_was_not_chosen_for_a_trial_is_not_made_up():
    """Trials of other samplers, and those before the objective asked for more, are left out."""
    study = study_of(RandomSampler(seed=3), "raise", 40)
    found = SurefootSampler().belief(study)
    assert [*found.trials] == [one.number for one in study.trials if len(one.params) == 3]
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    study.optimize(lambda trial: square(trial, 0.1), 12)
    study.optimize(lambda trial: square(trial, trial.suggest_float("w", 0.0, 1.0)), 16)
    best = study.sampler.belief(study).recommend()
    assert square(FixedTrial(best.params), best.params["w"]) < 1e-3


def square(trial, w: float) -> float:
    return (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2 + (w - 0.1) ** 2


@pytest.mark.daily(2)
@pytest.mark.parametrize("declared", [False, True])
def test_all_looks_are_at_the_values_that_were_chosen(declared):
    sampler = SurefootSampler(seed=1, search_space=SPACE if declared else None)
    study = study_of(sampler, "2.0", 20)
    assert any(len(trial.params) == 1 for trial in study.trials[4:])
    best = belief(study).recommend()
    assert {*best.params} == {*SPACE}
    assert len(annotated(study).trials) == 20


@pytest.mark.parametrize("objective", ["threshold", "meeting"])
def test_a_value_that_a_branch_does_not_have_is_refused(objective):
    study = optuna.create_study(sampler=RandomSampler(seed=1))
    study.optimize(globals()[objective], 30)
    found = SurefootSampler().belief(study)
    with pytest.raises(InvalidInput, match="'nope'"):
        found.recommend({"nope": 1})


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

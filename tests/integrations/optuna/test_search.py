"""Tests of `surefoot.integrations.optuna.search`."""

from dataclasses import replace

import optuna
import pytest

import surefoot as sf
from support.samplers import sampler_of
from surefoot.integrations.optuna import StudyEnvironment, SurefootSampler
from surefoot.parameters import Float, Space
from surefoot.problem import CONFLICTS


def _older():
    study = optuna.create_study()
    study.add_trial(optuna.create_trial(state=optuna.trial.TrialState.COMPLETE, value=1.0))
    return study


ARGUMENTS = {  # of each option of the table of conflicts that a sampler has
    "log": lambda: {"log": True},
    "prior": lambda: {"prior": _older()},
    "repeats": lambda: {"repeats": 3},
    "unstable": lambda: {"unstable": 0.2},
    "safe": lambda: {"safe": True},
    "initial": lambda: {"initial": 5},
    "environment": lambda: {
        "environment": StudyEnvironment("z", sf.FiniteEnvironment([0.0, 1.0])),
        "risk": sf.Mean(),
    },
    "fidelity": lambda: {"fidelity": sf.Fidelity([5, 30], cost=[5, 30])},
    "objectives": lambda: {"outcomes": {"cost": sf.Objective(maximise=False)}},
}
PAIRS = [one for one in CONFLICTS if {one.option, one.other} <= {*ARGUMENTS}]


@pytest.mark.parametrize(("option", "other", "why"), PAIRS)
def test_what_does_not_go_together_is_refused_by_its_name(option, other, why):
    with pytest.raises(sf.InvalidInput) as error:
        sampler_of(**ARGUMENTS[option](), **ARGUMENTS[other]())
    beside = "several objectives" if other == "objectives" else f"`{other}`"
    assert str(error.value) == f"`{option}` came with {beside}, {why}: leave one of them out."
    for alone in (option, other):
        sampler_of(**ARGUMENTS[alone]())


def test_a_safe_limit_counts_as_safe():
    limits = {"outcomes": {"p99": sf.Constraint(2.0, safe=True)}}
    with pytest.raises(sf.InvalidInput, match=r"`outcomes\['p99'\].safe` came with `fidelity`"):
        sampler_of(**limits, **ARGUMENTS["fidelity"]())


@pytest.mark.parametrize("name", [one.option for one in PAIRS if one.other == "objectives"])
def test_a_study_of_several_objectives_is_refused_before_it_is_sampled(name):
    sampler = sampler_of(**ARGUMENTS[name]())
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    with pytest.raises(sf.InvalidInput, match=f"`{name}` came with a study of 2 objectives"):
        study.ask()
    assert study.trials[0].state == optuna.trial.TrialState.FAIL


def test_a_method_of_the_users_own_chooses_and_predicts():
    seen = []

    def method(problem, **options):
        seen.append(options["initial"])
        corner = lambda candidates, generator: lambda points: -points.sum(-1)  # noqa: E731
        wide = sf.widths.constant(7.0)
        return replace(sf.algorithms.robust(problem, **options), policy=corner, width=wide)

    sampler = SurefootSampler(seed=0, initial=2, method=method)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=4)
    assert study.trials[-1].params == pytest.approx({"x": 0.0, "y": 0.0}, abs=1e-6)
    assert {*seen} == {2}
    assert sampler._tracker.optimizer.width == 7.0


@pytest.mark.long
@pytest.mark.parametrize("more", [{}, {"guess": {"x": 0.2}}], ids=["alone", "with a guess"])
def test_repeats_are_around_the_policy_that_is_there_without_them(more):
    policies = []
    for repeats in (1, 3):
        sampler = SurefootSampler(sf.Problem(**more), seed=0, initial=2, repeats=repeats)
        study = optuna.create_study(sampler=sampler)
        study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=4)
        policies.append(sampler._tracker.optimizer.policy)
    alone, repeated = policies
    assert repeated == sf.acquisition.Replication(alone.score, most=3)
    assert alone.score != sf.acquisition.UpperConfidenceBound()


@pytest.mark.parametrize("how", ["optimize", "catch", "ask"])
@pytest.mark.parametrize("has_space", [True, False])
def test_a_safe_search_that_cannot_begin_says_why_and_its_trial_has_failed(how, has_space):
    """Also within `study.optimize`, which tells the failure of an objective function itself."""
    spaces = {"search_space": Space({"x": Float(0, 1)})} if has_space else {}
    study = optuna.create_study(sampler=sampler_of(safe=True, **spaces))

    def objective(trial: optuna.Trial) -> float:
        return trial.suggest_float("x", 0, 1)

    if how == "catch":
        study.optimize(objective, n_trials=2, catch=(sf.NotReady,))
    else:
        with pytest.raises(sf.NotReady, match="safe"):
            objective(study.ask()) if how == "ask" else study.optimize(objective, n_trials=2)
    states = [trial.state for trial in study.trials]
    assert states == [optuna.trial.TrialState.FAIL] * (2 if how == "catch" else 1)

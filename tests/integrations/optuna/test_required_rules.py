"""Rules between the parameters of an Optuna study."""

from __future__ import annotations

import pickle

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from support.study_spaces import space_of
from surefoot.integrations.optuna import SurefootSampler
from surefoot.types import InvalidInput

SCALES = {
    "a": FloatDistribution(0, 10),
    "b": FloatDistribution(0, 10),
    "n": IntDistribution(1, 300),
    "mode": CategoricalDistribution(["fast", "safe"]),
}
RULES = ["a + b <= 10", "n <= 100 + 10 * a", "mode != 'fast' or b >= 1"]


def _objective(trial: optuna.Trial) -> float:
    a, b = trial.suggest_float("a", 0, 10), trial.suggest_float("b", 0, 10)
    n, mode = trial.suggest_int("n", 1, 300), trial.suggest_categorical("mode", ["fast", "safe"])
    return n / 100 - ((a - 8) ** 2 + (b - 7) ** 2) / 20 + 0.2 * (mode == "fast")


def _study(**settings) -> optuna.Study:
    sampler = SurefootSampler(seed=0, search_space=space_of(SCALES, require=RULES), **settings)
    return optuna.create_study(sampler=sampler, direction="maximize")


def _violated(params) -> tuple[str, ...]:
    return space_of(SCALES, require=RULES).violated(params)


@pytest.mark.long
def test_trials_satisfy_the_rules_and_so_does_the_recommendation():
    study = _study(initial=4)
    beyond = {"a": 9.0, "b": 9.0, "n": 300, "mode": "fast"}  # from a time without rules
    study.add_trial(optuna.create_trial(params=beyond, distributions=SCALES, value=50.0))
    study.optimize(_objective, n_trials=7)
    together = [study.ask(SCALES) for _ in range(3)]
    assert all(_violated(trial.params) == () for trial in (*study.trials[1:], *together))
    belief = study.sampler.belief(study)
    assert len(belief.fitted.values) == 8
    assert _violated(belief.recommend().params) == ()


@pytest.mark.long
def test_an_enqueued_trial_is_completed_or_refused():
    study = _study(initial=2)
    study.enqueue_trial({"a": 9.0})
    study.enqueue_trial({"a": 7.0, "mode": "fast"})
    study.optimize(_objective, n_trials=4)
    assert [trial.params["a"] for trial in study.trials[:2]] == [9.0, 7.0]
    assert study.trials[1].params["mode"] == "fast"
    assert all(_violated(trial.params) == () for trial in study.trials)
    study.enqueue_trial({"a": 9.0, "b": 8.0})
    with pytest.raises(InvalidInput, match=r"enqueued with .* satisfies `a \+ b <= 10`"):
        study.ask()
    assert study.trials[-1].state == TrialState.FAIL


@pytest.mark.long
def test_a_sampler_with_rules_is_pickled():
    study = _study(initial=2)
    study.optimize(_objective, n_trials=3)
    copied = pickle.loads(pickle.dumps(study.sampler))
    again = optuna.create_study(sampler=copied, direction="maximize")
    again.optimize(_objective, n_trials=2)
    assert all(_violated(trial.params) == () for trial in again.trials)


def test_a_rule_on_fixed_parameters_is_left_out():
    space = space_of(SCALES, require=RULES)
    assert list(space.limited_to(["a", "b"]).constraints) == RULES[:1]

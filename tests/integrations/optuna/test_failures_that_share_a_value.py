"""What failed trials share is learned from the first of them, and said in a line."""

import optuna
import pytest

from surefoot.integrations.optuna import SurefootSampler


@pytest.mark.long
def test_a_category_that_always_fails_costs_a_few_trials():
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.suggest_int("n", 1, 8)
        if trial.suggest_categorical("defrag", ["yes", "no"]) == "yes":
            raise ValueError
        trial.set_constraint("memory", x > 0.4)
        return -x

    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    study.optimize(objective, n_trials=16, catch=(ValueError,))
    belief = study.sampler.belief(study)
    failed = [t for t in study.trials if t.state == optuna.trial.TrialState.FAIL]
    assert 1 <= len(failed) <= 4
    (shared,) = belief.belief.failures.shared.found
    assert shared.failures == len(failed)
    assert belief.encoding.parameters["defrag"].decode(shared.value) == "yes"
    assert not belief.belief.candidates.seeks_feasibility
    best = belief.recommend()
    assert best.feasible
    assert best.params["x"] <= 0.4

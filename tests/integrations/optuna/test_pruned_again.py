"""Trials that are pruned: what is known of their values, and that none is repeated."""

from __future__ import annotations

from typing import Any

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from surefoot.integrations.optuna import SurefootSampler
from surefoot.integrations.optuna.trial_reader import Curve, predicted_value

ONE, OTHER = frozenset({"model", "depth"}), frozenset({"model", "width"})
NOISE = (0.0, 0.01, -0.01, 0.02, -0.02)
SPACES: dict[str, dict[str, Any]] = {
    "integers": {"x": IntDistribution(0, 9)},
    "steps": {"x": FloatDistribution(0.0, 1.0, step=0.1), "n": IntDistribution(1, 2)},
    "choices": {"x": IntDistribution(0, 6), "c": CategoricalDistribution(["a", "b"])},
}


def curves(branch: frozenset[str], number: int, gain: float) -> list[Curve]:
    """Trials of one branch that end near `gain` beyond what they show at step 0."""
    return [Curve({0: 1.0 + i}, 1.0 + i + gain + NOISE[i], branch) for i in range(number)]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("number", [1, 2, 3, 5])
def test_the_spread_is_known_from_other_branches(number: int, sign: float) -> None:
    others = curves(OTHER, 5, -7.0) + curves(ONE, number, -0.6)
    found = predicted_value(Curve({0: 2.0 - 9.0 * sign}, branch=ONE), others, sign)
    assert found is not None
    assert found.value == pytest.approx(2.0 - 9.0 * sign - 0.6, abs=0.02)
    assert found.error < 0.06


@pytest.mark.parametrize("number", [1, 2])
def test_no_spread_is_known_from_few_trials(number: int) -> None:
    found = predicted_value(Curve({0: 9.0}, branch=ONE), curves(ONE, number, -0.6), -1.0)
    assert found is not None
    assert found.error > 0.5


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("shown", [2.2, 2.5])
def test_it_is_no_better_than_those_that_showed_better(shown: float, sign: float) -> None:
    # A loss that decays by a factor: by the median difference it would be below all others.
    others = [Curve({0: -sign * one}, -sign * 0.1 * one) for one in (1.0, 2.0, 3.0, 4.0, 5.0)]
    found = predicted_value(Curve({0: -sign * shown}), others, sign)
    assert found is not None
    assert found.value == pytest.approx(-sign * 0.15)


@pytest.mark.long
@pytest.mark.parametrize("name", SPACES)
def test_what_was_pruned_is_not_tried_again(name: str) -> None:
    space = SPACES[name]
    sampler = SurefootSampler(seed=0, search_space=space, initial=4)
    study = optuna.create_study(sampler=sampler)
    pruned: list[dict[str, Any]] = []
    completed: list[dict[str, Any]] = []
    for _ in range(10):
        trial = study.ask(space)
        assert trial.params not in pruned or trial.params in completed
        loss = abs(float(trial.params["x"]) - 0.3) + (trial.params.get("n", 1) - 1)
        trial.report(1.0 + loss, 0)
        if trial.number % 3:  # also where it is the best
            pruned.append(trial.params)
            study.tell(trial, state=TrialState.PRUNED)
        else:
            completed.append(trial.params)
            study.tell(trial, loss)


@pytest.mark.long
def test_nor_where_another_trial_has_a_further_parameter() -> None:
    space, other = {"x": IntDistribution(0, 9)}, {"z": FloatDistribution(0.0, 1.0)}
    study = optuna.create_study(sampler=SurefootSampler(seed=0, initial=2))
    for x in (9, 7, 5):
        done = {"params": {"x": x}, "distributions": space, "intermediate_values": {0: x + 1.0}}
        study.add_trial(create_trial(**done, value=float(x)))
    known = {"params": {"x": 8, "z": 0.5}, "distributions": space | other}
    study.add_trial(create_trial(**known, state=TrialState.PRUNED))
    pruned = []
    for _ in range(9):
        trial = study.ask()
        x = trial.suggest_int("x", 0, 9)
        assert x not in pruned or x in (9, 7, 5, 8)  # 8 has a value of z, another each time
        pruned.append(x)
        trial.report(x + 1.0, 0)
        study.tell(trial, state=TrialState.PRUNED)


@pytest.mark.filterwarnings("ignore:all 3 configurations")
def test_a_space_of_which_all_was_pruned_goes_on() -> None:
    space = {"x": IntDistribution(0, 2)}
    study = optuna.create_study(sampler=SurefootSampler(seed=0, search_space=space, initial=2))
    for number in range(6):
        trial = study.ask(space)
        trial.report(float(trial.params["x"]), 0)
        study.tell(trial, *([] if number else [1.0]), state=TrialState.PRUNED if number else None)
    assert len(study.trials) == 6
    assert {trial.params["x"] for trial in study.trials} == {0, 1, 2}

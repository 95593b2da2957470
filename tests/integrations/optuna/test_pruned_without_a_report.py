"""Trials that are pruned without a report that can be compared: they count as failed."""

from __future__ import annotations

import math
from typing import Any

import optuna
import pytest
import torch
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

from surefoot.integrations.optuna import SurefootSampler, belief
from surefoot.integrations.optuna.trial_reader import Curve, predicted_value

LINE = {"x": FloatDistribution(0.0, 1.0)}
REPORTS: dict[str, dict[int, float]] = {
    "none": {},
    "at a step of its own": {7: 3.0},
    "no number": {0: math.nan, 1: math.inf},
}


def study_with(state: TrialState, reports: dict[int, float], at: float, **given: Any) -> Any:
    """A study of two values, with reports at step 0, and a trial without a value at 0.9."""
    number = given.pop("objectives", 1)
    sampler = SurefootSampler(seed=0, search_space=LINE, initial=9)
    study = optuna.create_study(directions=["minimize"] * number, sampler=sampler)
    for x in (0.2, 0.4):
        steps = {0: 2.0 * x} if number == 1 else {}
        done = {"params": {"x": x}, "distributions": LINE, "values": [x] * number}
        study.add_trial(create_trial(**done, intermediate_values=steps))
    known = {"params": {"x": at}, "distributions": LINE, "intermediate_values": reports}
    study.add_trial(create_trial(state=state, **known, **given))
    study.ask(LINE)
    return study


def failures(study: Any) -> list[float]:
    told = study.sampler._tracker.optimizer._told
    return [float(one.point) for one in told.failures.all]


@pytest.mark.long
@pytest.mark.parametrize("system", [{}, {"surefoot:watched": True}], ids=["", "with a heartbeat"])
@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_it_counts_as_failed(objectives: int, name: str, system: dict[str, Any]) -> None:
    if objectives > 1 and REPORTS[name]:
        pytest.skip("Optuna has no reports of several objectives")
    given = {"objectives": objectives, "system_attrs": system}
    study = study_with(TrialState.PRUNED, REPORTS[name], 0.9, **given)
    assert failures(study) == pytest.approx([0.9])
    known = belief(study)
    for one in known.objectives.values():
        failed, measured = one.belief.failures.success(
            torch.tensor([[0.9], [0.2]], dtype=torch.float64)
        )
        assert failed < measured


def test_a_report_that_can_be_compared_is_a_value() -> None:
    study = study_with(TrialState.PRUNED, {0: 1.8}, 0.9)
    assert failures(study) == []
    assert [*study.sampler.belief(study).trials] == [0, 1, 2]


@pytest.mark.parametrize("objectives", [1, 2])
def test_a_repeated_configuration_that_is_pruned_has_not_failed(objectives: int) -> None:
    assert failures(study_with(TrialState.PRUNED, {}, 0.4, objectives=objectives)) == []
    assert len(failures(study_with(TrialState.FAIL, {}, 0.4, objectives=objectives))) == 1


@pytest.mark.parametrize("error", [optuna.TrialPruned, ValueError])
def test_a_study_in_which_nothing_completes_says_that_it_is_random(error: type[Exception]) -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_float("x", 0.0, 1.0)
        raise error

    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    with pytest.warns(UserWarning, match="no trial of study .* has completed"):
        study.optimize(objective, 3, catch=ValueError)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_pruned_trial_is_compared_with_those_of_its_branch(sign: float) -> None:
    """One branch begins 9 above its value, the other one 1 above it."""
    slow = [Curve({0: value + 9.0}, value, frozenset("ab")) for value in (1.0, 2.0, 3.0)]
    fast = [Curve({0: value + 1.0}, value, frozenset("ac")) for value in (1.0, 2.0, 3.0, 2.5)]
    of_slow = predicted_value(Curve({0: 11.0}, branch=frozenset("ab")), [*slow, *fast], sign)
    of_fast = predicted_value(Curve({0: 3.0}, branch=frozenset("ac")), [*slow, *fast], sign)
    assert of_slow == of_fast == (2.0, 0.0)
    other = predicted_value(Curve({0: 11.0}, branch=frozenset("ad")), [*slow, *fast], sign)
    assert other is not None
    assert other.error > 0.0 or other.value != 2.0

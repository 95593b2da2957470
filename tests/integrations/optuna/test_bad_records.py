"""Finished trials whose attributes are wrong: they cannot be corrected, and end no study."""

from __future__ import annotations

import math
import warnings
from typing import Any

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState

import surefoot as sf
from support.samplers import sampler_of
from surefoot.integrations.optuna import StudyEnvironment, attributes, belief
from surefoot.spaces import Fidelity, truncated_normal

LINE = {"x": FloatDistribution(0.0, 1.0)}
LOAD = sf.ContinuousEnvironment(truncated_normal(0.5, 0.125, low=0.25, high=0.75))
STUDIES: dict[str, dict[str, Any]] = {
    "plain": {},
    "limit": {"outcomes": {"c": sf.Constraint(maximum=1.0)}},
    "objectives": {"outcomes": {"c": sf.Objective(maximise=False)}},
    "drift": {"effects": ("worker", "drift")},
    "logarithms": {"log": True},
    "observed": {
        "environment": StudyEnvironment(["load"], LOAD, observed=True),
        "risk": sf.VaR(0.1),
    },
    "chosen": {
        "environment": StudyEnvironment(["load"], sf.FiniteEnvironment([0.25, 0.5])),
        "risk": sf.VaR(0.1),
    },
    "fidelity": {"fidelity": Fidelity([0.5, 2, 4], cost=[1, 2, 4], name="load")},
    "two objectives": {},
}
USER = [
    attributes.ENVIRONMENT,
    attributes.BLAMELESS,
    attributes.STANDARD_ERROR,
    attributes.STANDARD_ERRORS,
    attributes.WORKER,
    attributes.TIME,
    "constraints",
]
SYSTEM = ["constraints", "constraints:c", "surefoot:reservation", "fixed_params"]
STRANGE = [
    None,
    True,
    -5.0,
    math.nan,
    10**400,
    "text",
    [math.nan],
    {},
    {"load": 0.76},
    {"load": math.nan},
    {"c": math.nan},
    {"c": 10**400},
]


def study_with(
    kind: str, state: TrialState, user: dict[str, Any], system: dict[str, Any]
) -> optuna.Study:
    """A study with three finished trials, of which the second one has other attributes."""
    sampler = sampler_of(seed=0, search_space=LINE, initial=9, **STUDIES[kind])
    directions = ["minimize"] * (2 if kind == "two objectives" else 1)
    study = optuna.create_study(directions=directions, sampler=sampler)
    right = {attributes.ENVIRONMENT: {"load": 0.5}, "constraints": {"c": 0.5}}
    for number in range(3):
        is_odd = number == 1
        is_done = not is_odd or state == TrialState.COMPLETE
        study.add_trial(
            optuna.trial.create_trial(
                state=state if is_odd else TrialState.COMPLETE,
                params={"x": 0.2 + 0.3 * number},
                distributions=LINE,
                values=[1.0 + number] * len(directions) if is_done else None,
                user_attrs=right | (user if is_odd else {}),
                system_attrs=system if is_odd else {},
            )
        )
    return study


@pytest.mark.parametrize("kind", STUDIES)
@pytest.mark.parametrize(
    "where", [*(("user", one) for one in USER), *(("system", one) for one in SYSTEM)], ids=str
)
@pytest.mark.long
def test_a_bad_record_ends_no_study(kind: str, where: tuple[str, str]) -> None:
    for state in (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL):
        for value in STRANGE:
            own = {where[1]: value}
            user, system = (own, {}) if where[0] == "user" else ({}, own)
            study = study_with(kind, state, user, system)
            with warnings.catch_warnings(action="ignore"):
                study.ask(LINE)


@pytest.mark.long
@pytest.mark.parametrize(
    "environment",
    [None, {}, {"load": 0.76}, {"load": math.nan}, {"load": "high"}, {"load": 10**400}, [0.5]],
)
@pytest.mark.parametrize("kind", ["observed", "chosen", "fidelity"])
def test_a_value_whose_environment_is_none_is_left_out(kind: str, environment: Any) -> None:
    study = study_with(kind, TrialState.COMPLETE, {attributes.ENVIRONMENT: environment}, {})
    with pytest.warns(UserWarning, match="trial 1 is left out of the model"):
        known = study.sampler.belief(study)  # type: ignore[attr-defined]
    assert [*known.trials] == [0, 2]
    with warnings.catch_warnings(action="ignore"):
        study.ask(LINE)


@pytest.mark.long
def test_the_front_is_of_the_other_trials() -> None:
    study = study_with("two objectives", TrialState.COMPLETE, {"surefoot:sems": {"x": -1.0}}, {})
    assert len(belief(study).front()) == 1

"""Predictions of a quantity that had one sign in all its measurements."""

from __future__ import annotations

import numpy as np
import optuna
import pytest

import surefoot as sf
from surefoot.integrations.optuna import CONSTRAINTS, SurefootSampler
from surefoot.integrations.optuna.study_belief import StudyBelief

LINE = [{"x": float(x)} for x in np.linspace(0.0, 1.0, 17)]
STEP = {0.0: 0.0, 0.2: 31.0, 0.4: 33.0, 0.6: 9.0, 0.8: 7.5, 1.0: 38.0}


def belief_of(
    values: dict[float, float], direction: str, further: float | None = None
) -> StudyBelief:
    """Belief of few values at x; of a further objective that is a multiple of them, if any."""
    objectives = {} if further is None else {"cost": sf.Objective(direction)}
    study = optuna.create_study(
        direction=direction, sampler=SurefootSampler(sf.Problem(outcomes=objectives), seed=0)
    )
    for x, value in values.items():
        study.enqueue_trial({"x": x})
        trial = study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)})
        if further is not None:
            trial.set_user_attr(CONSTRAINTS, {"cost": further * value})
        study.tell(trial, value if further is None else 1.0)
    belief = study.sampler.belief(study)
    return belief if further is None else belief.of_outcome("cost", belief.declared["cost"])


@pytest.mark.long
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("is_further", [False, True])
def test_no_end_has_the_other_sign(direction, sign, is_further):
    values = STEP if is_further else {x: sign * value for x, value in STEP.items()}
    belief = belief_of(values, direction, sign if is_further else None)
    ends = sign * np.array(belief.predict(LINE))
    assert (ends >= 0.0).all()
    assert (ends[1:] == 0.0).any()


def test_values_of_both_signs_leave_intervals_as_they_are():
    belief = belief_of({x: value - 5.0 for x, value in STEP.items()}, "minimize")
    lower = belief.predict(LINE)[1]
    assert (lower < 0.0).any()


@pytest.mark.long
def test_nothing_is_less_by_more_than_all_of_it():
    belief = belief_of(STEP, "maximize")
    level = belief.predict([{"x": 1.0}])[0][0]
    for params in LINE:
        middle, lower, upper = belief.difference(params, {"x": 1.0})
        assert -level <= lower <= middle <= upper


@pytest.mark.long
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("is_further", [False, True])
def test_nothing_is_minus_zero(direction, is_further):
    belief = belief_of(STEP, direction, 1.0 if is_further else None)
    ends = [*belief.difference(LINE[3], LINE[3]), *np.ravel(belief.predict(LINE))]
    assert ends.count(0.0) > 2
    assert not any(np.signbit(ends))


@pytest.mark.long
def test_an_interval_that_contradicts_the_sign_stays():
    belief = belief_of({x: 10.0 * x + 0.5 for x in np.linspace(0.3, 1.0, 12)}, "minimize")
    middle, lower, upper = (float(end[0]) for end in belief.predict([{"x": 0.0}]))
    assert lower <= middle <= upper
    assert upper > 0.0

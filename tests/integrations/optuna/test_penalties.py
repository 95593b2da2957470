"""A constant that is returned in place of a failure, whatever its size is."""

from __future__ import annotations

import math
import warnings

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import create_trial

from surefoot.integrations.optuna import SurefootSampler
from surefoot.integrations.optuna.objectives import penalty_of

LINE = {"x": FloatDistribution(0.0, 1.0)}
GOOD = [0.5, 0.61, 0.83, 1.9, 0.55]


def trials_of(values: list[float], places: list[float] | None = None) -> list:
    at = places or [(index + 0.5) / len(values) for index in range(len(values))]
    return [
        create_trial(params={"x": x}, distributions=LINE, value=value)
        for x, value in zip(at, values, strict=True)
    ]


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("penalty", [10.0, 100.0, 999999.0, 1e30, 1.7e308])
def test_a_constant_beyond_all_others_is_a_penalty(penalty: float, sign: float) -> None:
    values = [-sign * one for one in [*GOOD, penalty, penalty, penalty]]
    assert penalty_of(trials_of(values), sign) == -sign * penalty


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ([], None),
        ([3.0] * 9, None),
        ([*GOOD, 100.0, 100.0], None),  # too few to tell
        ([*GOOD, 100.0, 100.0, 100.0], [0.1, 0.2, 0.3, 0.4, 0.5, 0.9, 0.9, 0.9]),  # repeats
        ([*GOOD, 2.0, 2.0, 2.0, 2.0], None),  # where it saturates
        ([*GOOD, 100.0, 101.0, 102.0, 99.0], None),  # measurements
        ([0.0, 0.0, 0.0, -0.2, -0.9, -0.3], None),  # a narrow optimum on a plateau
        ([0.5, 0.6, 100.0, 100.0, 100.0], None),  # of what else there is nothing is known
        ([*GOOD, -50.0, -50.0, -50.0], None),  # the best
        ([*GOOD, math.inf, math.inf, math.inf], None),  # no values at all
    ],
)
def test_no_penalty(values: list[float], places: list[float] | None) -> None:
    assert math.isnan(penalty_of(trials_of(values, places), -1.0))


@pytest.mark.daily(1)
@pytest.mark.parametrize("penalty", [10.0, 1e30])
def test_penalties_count_as_failed(penalty: float) -> None:
    def studied(last: bool) -> optuna.Study:
        study = optuna.create_study(sampler=SurefootSampler(seed=0, search_space=LINE, initial=20))
        study.add_trials(trials_of([*GOOD, penalty, penalty]))
        study.ask(LINE)
        study.add_trials(trials_of([penalty] * last, [0.99] * last))
        with warnings.catch_warnings():
            warnings.simplefilter("error" if not last else "ignore")
            study.ask(LINE)
        return study

    before, after = studied(last=False), studied(last=True)
    told = [one.sampler._tracker.optimizer for one in (before, after)]  # type: ignore[attr-defined]
    assert [len(one._told.failures.all) for one in told] == [0, 3]
    assert [len(one.history) for one in told] == [7, 5]
    with pytest.warns(UserWarning, match="gave exactly .*, far worse than all others"):
        best = SurefootSampler(search_space=LINE).belief(after).recommend()
    assert -1.0 < best.lower < 0.6 < best.upper < 2.5

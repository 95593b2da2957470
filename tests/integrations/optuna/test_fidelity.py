"""Levels of fidelity in an Optuna study: chosen for a trial, or reported on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

from support.samplers import sampler_of
from surefoot import Fidelity, FiniteEnvironment, InvalidInput, Mean
from surefoot.integrations.optuna import ENVIRONMENT, StudyEnvironment, SurefootSampler

LINE = {"x": FloatDistribution(0.0, 1.0)}
LEVELS = Fidelity([5, 30, 120], cost=[5, 30, 120], name="seconds")
LOAD = StudyEnvironment("load", FiniteEnvironment([0.0, 1.0]))


def sampler(**more: Any) -> SurefootSampler:
    return sampler_of(fidelity=LEVELS, seed=0, search_space=LINE, **more)


def study_of(trials: list[tuple[float, dict[int, float], float | None, Any]]) -> optuna.Study:
    """Trials of x, with their reports by step, a value unless pruned, and a recorded level."""
    study = optuna.create_study(sampler=sampler())
    for x, reports, value, level in trials:
        study.add_trial(
            create_trial(
                state=TrialState.PRUNED if value is None else TrialState.COMPLETE,
                params={"x": x},
                distributions=LINE,
                value=value,
                intermediate_values=reports,
                user_attrs={} if level is None else {ENVIRONMENT: {"seconds": level}},
            )
        )
    return study


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"fidelity": {"seconds": LEVELS}}, r"expected a `Fidelity"),
        ({"environment": LOAD, "risk": Mean()}, "expected one of the two"),
        ({"repeats": 2}, "fidelity"),
        ({"safe": True}, "safe"),
        ({"fidelity": replace(LEVELS, name="x")}, "different"),
    ],
)
def test_what_does_not_go_together_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        sampler_of(**{"search_space": LINE, "fidelity": LEVELS, **more})


@pytest.mark.long
def test_levels_are_chosen_and_recorded() -> None:
    study = optuna.create_study(sampler=sampler(initial=4, log=True))
    levels = []

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        levels.append(study.sampler.environment_of(trial)["seconds"])
        assert trial.user_attrs[ENVIRONMENT] == {"seconds": levels[-1]}
        return 1.0 + (x - 0.3) ** 2 + 1.0 / levels[-1]

    study.optimize(objective, n_trials=9)
    assert levels[:8] == [5] * 4 + [30] * 2 + [120] * 2
    best = study.sampler.belief(study).recommend()
    assert best.value == pytest.approx(1.0 + 1.0 / 120 + (best.params["x"] - 0.3) ** 2, abs=0.05)


def test_the_last_report_at_a_level_of_a_pruned_trial_is_its_measurement() -> None:
    """One: reports of a trial have their luck in common."""
    study = study_of(
        [
            (0.1, {5: 7.0, 6: 8.0, 30: 5.0}, None, None),  # pruned: two levels
            (0.4, {5: 6.0, 120: 4.0}, 4.0, None),  # the last report is the value
            (0.6, {7: 1.0}, None, None),  # pruned at no level
            (0.8, {}, 3.0, 30),
        ]
    )
    belief = study.sampler.belief(study)
    assert belief.trials == [0, 1, 3]
    assert belief.fitted.values.tolist() == [5.0, 4.0, 3.0]
    observations = belief.belief.outcome.observations
    levels = observations.sites[observations.site][:, -1]
    assert levels.tolist() == [0.5, 1.0, 0.5]


def test_of_logarithms_the_last_report_that_has_one_counts() -> None:
    trials = study_of([(0.4, {}, 4.0, None), (0.1, {5: 7.0, 30: 0.0}, None, None)]).trials
    study = optuna.create_study(sampler=sampler(log=True))
    study.add_trials(trials)
    belief = study.sampler.belief(study)
    assert belief.fitted.values.tolist() == pytest.approx([4.0, 7.0])


def test_without_a_fidelity_a_pruned_trial_has_one_predicted_value() -> None:
    trials = study_of([(0.4, {5: 6.0}, 4.0, None), (0.1, {5: 7.0}, None, None)]).trials
    plain = SurefootSampler(search_space=LINE)
    study = optuna.create_study(sampler=plain)
    study.add_trials(trials)
    assert plain.belief(study).fitted.values.tolist() == [4.0, 5.0]


@pytest.mark.long
def test_pruned_trials_are_worth_what_short_runs_are() -> None:
    xs = [(0.618 * i) % 1.0 for i in range(16)]
    rows = [(x, {5: 3.0 + (x - 0.3) ** 2}, None, None) for x in xs]
    full = [(x, {5: 3.0 + (x - 0.3) ** 2}, 1.0 + (x - 0.3) ** 2, None) for x in (0.8, 0.5, 0.1)]
    study = study_of([*full, *rows])
    best = study.sampler.belief(study).recommend()
    assert abs(best.params["x"] - 0.3) < 0.08  # where no trial had its full length
    assert best.value == pytest.approx(1.0, abs=0.1)

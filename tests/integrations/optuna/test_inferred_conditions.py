"""Parameters that only some trials have, of a study whose search space is not declared."""

import warnings
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from support.study_spaces import conditions_of
from surefoot.integrations.optuna import SurefootSampler
from surefoot.integrations.optuna.common_space import NO_TRIALS
from surefoot.integrations.optuna.tracker import StudyTracker

UNIT = FloatDistribution(0.0, 1.0)
SPACE: dict[str, BaseDistribution] = {
    "model": CategoricalDistribution(["svm", "rf", "it's"]),
    "kernel": CategoricalDistribution(["rbf", "linear"]),
    "quoted": CategoricalDistribution(["'", '"', "'\""]),
    "none": CategoricalDistribution([None, 1]),
    "deep": CategoricalDistribution([True, False]),
    "layers": IntDistribution(1, 9),
    "rate": UNIT,
    "c": UNIT,
    "width": UNIT,
    "constant": FloatDistribution(2.0, 2.0),
}


def trial_of(**params: Any) -> FrozenTrial:
    return create_trial(value=1.0, params=params, distributions={n: SPACE[n] for n in params})


@pytest.mark.parametrize(
    ("rows", "when"),
    [
        ([{"model": "svm", "c": 0.1}, {"model": "rf"}], {"c": "model == 'svm'"}),
        (
            [{"model": "svm", "c": 0.1}, {"model": "it's", "c": 0.1}, {"model": "rf"}],
            {"c": "model in ['svm', \"it's\"]"},
        ),
        (
            [
                {"model": "svm", "kernel": "rbf", "c": 0.1},
                {"model": "svm", "kernel": "linear"},
                {"model": "rf"},
            ],
            {"kernel": "model == 'svm'", "c": "kernel == 'rbf'"},
        ),
        (
            [{"layers": 1}, {"layers": 2, "c": 0.1}, {"layers": 3, "c": 0.1, "width": 0.1}],
            {"c": "layers >= 2", "width": "layers >= 3"},
        ),
        ([{"layers": 1, "c": 0.1}, {"layers": 2}], {"c": "layers <= 1"}),
        (
            [{"layers": 2, "c": 0.1}, {"layers": 1}, {"layers": 3}],
            {"c": "layers >= 2 and layers <= 2"},
        ),
        ([{"deep": True, "c": 0.1}, {"deep": False}], {"c": "deep == true"}),
        ([{"none": 1, "c": 0.1}, {"none": None}], {"c": "none == 1"}),
        (
            [{"model": "svm", "c": 0.1, "constant": 2.0}, {"model": "rf", "width": 0.1}],
            {"c": "model == 'svm'", "width": "model == 'rf'"},
        ),
    ],
)
def test_a_condition_is_the_choice_or_integer_that_decides(rows, when):
    space = NO_TRIALS.after([trial_of(**params) for params in rows]).space
    assert conditions_of(space) == when
    for params in rows:
        assert {*space.active(params)} == {*params} - {"constant"}


@pytest.mark.parametrize(
    "rows",
    [
        [{"model": "svm", "c": 0.1}, {"model": "svm"}],  # by chance
        [{"rate": 0.1, "c": 0.1}, {"rate": 0.2}],  # by a number, at an unknown value
        [{"layers": 1, "c": 0.1}, {"layers": 2}, {"layers": 3, "c": 0.1}, {"layers": 4}],
        [{"none": None, "c": 0.1}, {"none": 1}],  # no condition is written with None
        [{"quoted": "'\"", "c": 0.1}, {"quoted": "'"}],  # nor with both kinds of quotes
        [{"model": "svm", "constant": 2.0}, {"model": "rf"}],
    ],
)
def test_what_nothing_explains_is_left_to_the_branches(rows):
    space = NO_TRIALS.after([trial_of(**params) for params in rows]).space
    assert not space.conditions
    assert {*space.parameters} == set.intersection(*({*params} for params in rows))


def test_what_nothing_explains_leaves_the_others_to_their_conditions():
    others = [{"model": "rf"}, {"model": "rf"}, {"model": "rf", "c": 0.1}]
    rows = [{"model": "svm", "c": 0.1, "rate": 0.1}, *others]
    trials = [trial_of(**params) for params in rows]
    common = NO_TRIALS.after(trials)
    assert conditions_of(common.space) == {"rate": "model == 'svm'"}
    assert common.missing == {"c"}
    assert not common.after([*trials, trials[1]]).missing  # it was not asked for


def test_a_parameter_of_half_of_the_trials_is_a_new_one():
    """From then on it is chosen, and until then it is said to be random."""
    study = optuna.create_study(sampler=SurefootSampler(seed=0, initial=4))
    study.add_trials([trial_of(rate=at) for at in (0.1, 0.4, 0.6, 0.9)])
    said = []
    for _ in range(4):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            asked = study.ask()
            asked.suggest_float("rate", 0.0, 1.0)
        said.append([str(one.message) for one in caught])
        assert "c" not in asked.relative_params
        study.tell(asked, (asked.params["rate"] - 0.5) ** 2 + asked.suggest_float("c", 0.0, 1.0))
    assert [sum("values of c are sampled at random" in one for one in each) for each in said] == [
        0,
        1,
        1,
        1,
    ]
    asked = study.ask()
    asked.suggest_float("rate", 0.0, 1.0)
    assert {*asked.relative_params} == {"rate", "c"}
    assert {*study.sampler.belief(study).recommend().params} == {"rate", "c"}


@pytest.mark.parametrize("side", [0.0, 0.5])
def test_a_parameter_that_follows_a_number_is_no_new_one(side):
    """Though only later trials have it: no measurement is left out for it."""
    trials = [trial_of(rate=side + at) for at in (0.1, 0.2, 0.3, 0.4)]
    trials += [trial_of(rate=0.5 - side + at, c=at) for at in (0.1, 0.2, 0.3, 0.4, 0.45)]
    common = NO_TRIALS.after(trials)
    assert list(common.space.parameters) == ["rate"]
    assert common.missing == {"c"}


@pytest.mark.parametrize("state", [TrialState.FAIL, TrialState.PRUNED])
@pytest.mark.parametrize(
    "early",
    [
        {"model": SPACE["model"]},
        {"typo": UNIT},
        {"model": SPACE["model"], "typo": UNIT},
        {"layers": IntDistribution(1, 99)},
    ],
)
def test_trials_that_ended_early_explain_nothing(early, state):
    layers = {"layers": 1}
    trials = [trial_of(model="svm", c=0.1, **layers), trial_of(model="rf", **layers)]
    values = {"model": "svm", "typo": 0.5, "layers": 9}
    ended = create_trial(
        state=state, params={name: values[name] for name in early}, distributions=early
    )
    common = NO_TRIALS.after([*trials, ended])
    assert common.space == NO_TRIALS.after(trials).space
    assert conditions_of(common.space) == {"c": "model == 'svm'"}
    assert not common.missing


def test_a_condition_that_turns_out_to_be_narrower_leaves_no_trial_out():
    """All distributions are known before: only the condition is another one."""
    sampler = SurefootSampler(seed=0, initial=3)
    study = optuna.create_study(sampler=sampler)
    rows: list[dict[str, Any]] = [
        {"model": "svm", "kernel": "rbf", "c": 0.1},
        {"model": "svm", "kernel": "rbf", "c": 0.7},
        {"model": "rf"},
        {"model": "rf"},
    ]
    for params in rows:
        study.add_trial(trial_of(**params))
    before = len(measured(study, sampler).numbers)
    for _ in range(2):
        study.add_trial(trial_of(model="svm", kernel="linear"))
    tracker = measured(study, sampler)
    assert (before, len(tracker.numbers)) == (len(rows), len(rows) + 3)
    assert conditions_of(tracker.encoding.space) == {
        "kernel": "model == 'svm'",
        "c": "kernel == 'rbf'",
    }


def measured(study: optuna.Study, sampler: SurefootSampler) -> StudyTracker:
    """What has been read of a study when one more trial is sampled, which is then measured."""
    trial = study.ask()
    model = trial.suggest_categorical("model", ["svm", "rf", "it's"])
    tracker = sampler._tracker
    if model == "svm" and trial.suggest_categorical("kernel", ["rbf", "linear"]) == "rbf":
        trial.suggest_float("c", 0.0, 1.0)
    study.tell(trial, 1.0)
    assert tracker is not None
    return tracker


@pytest.mark.long
def test_an_optimum_on_an_undeclared_branch_is_found():
    noise, values = np.random.default_rng(0), []

    def nested(trial: Trial) -> float:
        kind = trial.suggest_categorical("kind", ["a", "b"])
        x = trial.suggest_float(f"x_{kind}", 0.0, 1.0)
        trial.suggest_float("constant", 3.0, 3.0)
        values.append((x - 0.2) ** 2 + 0.1 if kind == "a" else (x - 0.8) ** 2)
        return values[-1] + 0.02 * noise.standard_normal()

    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    study.optimize(nested, n_trials=22)
    best = study.sampler.belief(study).recommend().params
    assert {*best} == {"kind", "x_b", "constant"}
    assert abs(best["x_b"] - 0.8) < 0.1
    assert np.median(values[-8:]) < 0.01


def test_a_prediction_says_which_values_it_does_not_depend_on() -> None:
    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        return x + trial.suggest_float("y", 0, 1) ** 2 if x < 0.3 else 0.2 + x

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=24)
    belief = SurefootSampler(seed=0).belief(study)
    ends = {"x": 0.2, "y": 0.1}, {"x": 0.2, "y": 0.9}
    with pytest.warns(UserWarning, match=r"do not depend on y, which the model of all .*`parts`"):
        assert belief.difference(*ends) == (0.0, 0.0, 0.0)
    own = next(one for one, _ in belief.parts if "y" in one.encoding.parameters)
    with warnings.catch_warnings(action="error"):
        assert own.difference(*ends)[0] < -0.3
        belief.predict([{"x": 0.2}])

"""Values that are known before the choice: enqueued ones, fixed ones, and ranges that change."""

import pickle
import warnings

import numpy as np
import optuna
import pytest
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import PartialFixedSampler
from optuna.trial import Trial, TrialState, create_trial

from support.study_spaces import space_of
from surefoot.integrations.optuna import SurefootSampler, common_space, distributions
from surefoot.integrations.optuna.common_space import NO_TRIALS, nearest_in
from surefoot.types import InvalidInput

KINDS: list[tuple[BaseDistribution, list]] = [
    (FloatDistribution(0.0, 1.0), [0.1, 0.5, 0.9]),
    (FloatDistribution(1e-3, 1.0, log=True), [1e-3, 0.03, 1.0]),
    (IntDistribution(0, 4), [0, 2, 4]),
    (CategoricalDistribution(["a", "b", "c"]), ["a", "b", "c"]),
]


def study_of(given: BaseDistribution, values: list, **settings) -> optuna.Study:
    """Trials of `given` and `x`: the best x is that of the same place among the values."""
    study = optuna.create_study(sampler=SurefootSampler(seed=0, **settings))
    for index, value in enumerate(values):
        best = index / 2.0
        for x in np.linspace(0.0, 1.0, 9):
            study.add_trial(
                create_trial(
                    value=(x - best) ** 2,
                    params={"given": value, "x": x},
                    distributions={"given": given, "x": FloatDistribution(0.0, 1.0)},
                )
            )
    return study


@pytest.mark.long
@pytest.mark.parametrize(("given", "values"), KINDS)
@pytest.mark.parametrize("how", ["enqueued", "waiting", "fixed"])
def test_what_is_given_is_a_condition_on_the_choice(given, values, how):
    study = study_of(given, values)
    space = {"given": given, "x": FloatDistribution(0.0, 1.0)}
    sampler = study.sampler
    if how == "enqueued":
        for value in values:  # several at once
            study.enqueue_trial({"given": value})
    chosen = []
    for value in values:
        if how == "waiting":
            waiting = {"fixed_params": {"given": value}}
            study.add_trial(create_trial(state=TrialState.WAITING, system_attrs=waiting))
        if how == "fixed":
            study.sampler = PartialFixedSampler({"given": value}, sampler)
        trial = study.ask(space)
        assert trial.params["given"] == value
        chosen.append(trial.params["x"])
        study.tell(trial, (trial.params["x"] - values.index(value) / 2.0) ** 2)
    np.testing.assert_allclose(chosen, [0.0, 0.5, 1.0], atol=0.15)


@pytest.mark.long
def test_a_given_load_explores_and_is_followed():
    rng, regrets = np.random.default_rng(0), []
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    for _ in range(30):
        load = float(rng.random())
        study.enqueue_trial({"load": load})
        trial = study.ask()
        x, load = trial.suggest_float("x", 0, 1), trial.suggest_float("load", 0, 1)
        regrets.append((x - load) ** 2)
        study.tell(trial, regrets[-1] + 0.01 * rng.standard_normal())
    assert np.median(regrets[20:]) < 0.02  # at random 0.09


@pytest.mark.long
def test_a_given_value_with_rules_and_conditions():
    space = space_of(
        {
            "a": FloatDistribution(0, 10),
            "b": FloatDistribution(0, 10),
            "mode": CategoricalDistribution(["plain", "tuned"]),
            "level": FloatDistribution(0, 1),
        },
        when={"level": "mode == 'tuned'"},
        require=["a + b <= 10"],
    )

    def objective(trial: Trial) -> float:
        a, b = trial.suggest_float("a", 0, 10), trial.suggest_float("b", 0, 10)
        if trial.suggest_categorical("mode", ["plain", "tuned"]) == "tuned":
            return a - b - trial.suggest_float("level", 0, 1)
        return a - b

    study = optuna.create_study(sampler=SurefootSampler(seed=0, search_space=space, initial=5))
    study.optimize(objective, 8)
    for given in ({"a": 6.0}, {"mode": "plain", "b": 3.0}, {"mode": "tuned", "a": 9.5}):
        study.enqueue_trial(given)
        study.optimize(objective, 1)
        params = study.trials[-1].params
        assert given.items() <= params.items()
        assert params["a"] + params["b"] <= 10
    study.enqueue_trial({"a": 9.0, "b": 8.0})
    with pytest.raises(InvalidInput, match=r"enqueued with .* satisfies `a \+ b <= 10`"):
        study.ask()


@pytest.mark.long
@pytest.mark.parametrize("wider", [FloatDistribution(0.0, 2.0), FloatDistribution(0.5, 2.0)])
def test_a_range_that_was_changed_is_searched(wider):
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    for number in range(16):
        trial = study.ask({"x": FloatDistribution(0.0, 1.0) if number < 6 else wider})
        study.tell(trial, (trial.params["x"] - 1.4) ** 2)
    chosen = np.array([trial.params["x"] for trial in study.trials])
    assert abs(np.median(chosen[-6:]) - 1.4) < 0.05
    best = study.sampler.belief(study).recommend().params["x"]
    assert best == pytest.approx(1.4, abs=0.02)


@pytest.mark.daily(3)
@pytest.mark.parametrize(
    ("first", "now", "best"),
    [
        (FloatDistribution(0, 4), FloatDistribution(0, 4, step=0.5), 1.5),
        (FloatDistribution(0, 4), FloatDistribution(2, 4), 2.0),
        (FloatDistribution(0, 4, step=0.5), FloatDistribution(2, 4, step=0.5), 2.0),
        (IntDistribution(0, 4), IntDistribution(0, 4, step=2), 2),
        (IntDistribution(0, 9, step=3), IntDistribution(2, 10, step=4), 2),
        (FloatDistribution(0, 1), FloatDistribution(0, 4), 1.4),
        (FloatDistribution(0, 2, step=0.1), FloatDistribution(0, 0.3, step=0.1), 0.3),
        (IntDistribution(1, 64, log=True), IntDistribution(4, 16, log=True), 4),
    ],
)
@pytest.mark.parametrize("branches", [False, True])
def test_the_recommendation_is_within_the_ranges_of_now(first, now, best, branches):
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    for index in range(16):
        x = first.low + (first.high - first.low) * (index % 8) / 7
        earlier = {"x": (first, nearest_in(first, type(first.low)(x)))}
        later = {"x": (now, nearest_in(now, type(now.low)(best)))}
        known = later if index > 13 else earlier
        other = {"y": (FloatDistribution(0, 1), index / 16)} if branches and index % 2 else {}
        params = {name: one for name, (_, one) in (known | other).items()}
        study.add_trial(
            create_trial(
                value=(params["x"] - 1.4) ** 2 + params.get("y", 0.0),
                params=params,
                distributions={name: one for name, (one, _) in (known | other).items()},
            )
        )
    found = study.sampler.belief(study).recommend().params["x"]
    assert now._contains(found)
    assert found == pytest.approx(best, abs=0.1)


@pytest.mark.parametrize(
    ("first", "second", "widest"),
    [
        (FloatDistribution(0, 1), FloatDistribution(-1, 2), FloatDistribution(-1, 2)),
        (
            FloatDistribution(0, 1, step=0.5),
            FloatDistribution(0, 3, step=0.5),
            FloatDistribution(0, 3, step=0.5),
        ),
        (FloatDistribution(0, 1, step=0.5), FloatDistribution(0, 3), FloatDistribution(0, 3)),
        (
            IntDistribution(1, 9, step=2),
            IntDistribution(2, 12, step=2),
            IntDistribution(1, 12),
        ),
        (
            IntDistribution(1, 8, log=True),
            IntDistribution(4, 64, log=True),
            IntDistribution(1, 64, log=True),
        ),
        (
            IntDistribution(1, 1),
            IntDistribution(1, 3),
            IntDistribution(1, 3),
        ),
    ],
)
def test_the_common_space_has_the_widest_range_and_the_last_one_is_chosen_from(
    first, second, widest
):
    ends = [(first, first.low), (second, second.low)]
    trials = [create_trial(value=0.0, params={"x": x}, distributions={"x": d}) for d, x in ends]
    common = NO_TRIALS.after(trials)
    assert distributions(common.space) == {"x": widest}
    assert common.ranges == {"x": second}
    for value in (widest.low, widest.high):
        assert second._contains(nearest_in(second, value))


@pytest.fixture
def found(monkeypatch):
    """An entry for each time that the trials are searched for their common space."""
    times, find = [], common_space._space
    monkeypatch.setattr(common_space, "_space", lambda *given: times.append(1) or find(*given))
    return times


def test_the_common_space_is_found_once_for_the_same_trials(found):
    """Also of a pickled sampler, and not of another study or after another trial."""
    x = {"x": FloatDistribution(0.0, 1.0)}
    trials = [create_trial(value=0.0, params={"x": 0.5}, distributions=x) for _ in range(3)]
    spaces = [NO_TRIALS.after(trials[:2])]
    for given in (trials[:2], trials, trials, trials[:2]):
        spaces.append(spaces[-1].after(given))
    assert len(found) == 3
    assert all(one.space is spaces[0].space for one in spaces)
    copied = pickle.loads(pickle.dumps(spaces[-1]))
    assert copied.after(trials).space is copied.space
    assert not copied.after([]).space.parameters


def test_a_sampler_without_a_space_finds_it_once_a_trial(found):
    study = optuna.create_study(sampler=SurefootSampler(seed=0, initial=10))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=4)
    before = len(found)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=5)
    assert len(found) - before == 5


def test_parameters_of_another_kind_are_not_in_common():
    kinds = [FloatDistribution(1, 2), FloatDistribution(1, 2, log=True)]
    trials = [create_trial(value=0.0, params={"x": 1}, distributions={"x": d}) for d in kinds]
    assert not NO_TRIALS.after(trials).space.parameters


def test_a_value_out_of_range_is_not_left_out_silently():
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), 2)
    study.enqueue_trial({"x": 1.5})
    with warnings.catch_warnings(action="ignore"):
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), 1)
    with pytest.warns(UserWarning, match=r"trial 2 is left out .*'x': 1\.5.* widen"):
        study.sampler.belief(study)


@pytest.mark.daily(1)
def test_a_given_value_of_a_parameter_that_is_not_active_is_not_recommended():
    numbers = {"x": FloatDistribution(0.0, 1.0), "level": IntDistribution(1, 5)}
    mode = CategoricalDistribution(["a", "b"])
    space = space_of({"mode": mode, **numbers}, when={"level": "mode == 'b'"})
    study = optuna.create_study(sampler=SurefootSampler(seed=0, search_space=space))
    for index in range(12):
        params = {"mode": "ab"[index % 2], "x": index / 11.0}
        params |= {"level": 1 + index % 5} if index % 2 else {}
        shown = {name: one for name, one in {"mode": mode, **numbers}.items() if name in params}
        value = 3.0 * (index % 2) + params["x"]
        study.add_trial(create_trial(value=value, params=params, distributions=shown))
    belief = study.sampler.belief(study)
    found = belief.recommend({"level": 3})
    assert found.params.keys() == {"mode", "x"}
    assert belief.predict([found.params])[0][0] == found.value
    assert belief.recommend({"mode": "b", "level": 3}).params["level"] == 3
    with pytest.raises(InvalidInput, match="active only when"):
        belief.recommend({"mode": "a", "level": 3})

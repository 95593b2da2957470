"""One parameter name with several ranges: of each choice, of other numbers, and changed ones."""

import pickle
import warnings
from collections.abc import Sequence
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
from optuna.trial import FrozenTrial, TrialState, create_trial

import surefoot as sf
from surefoot.integrations.optuna import SurefootSampler
from surefoot.integrations.optuna.common_space import NO_TRIALS, CommonSpace
from surefoot.parameters.parameter import shared_name
from surefoot.types import InvalidInput

SGD, ADAM, NEW = FloatDistribution(0.5, 2.0), FloatDistribution(0.0, 0.1), FloatDistribution(1, 3)
OPTIMIZER = CategoricalDistribution(["sgd", "adam", "none"])


def trial(
    choice: str, lr: FloatDistribution, state: TrialState = TrialState.COMPLETE, at: float = 0.5
) -> FrozenTrial:
    """A trial at a part of the range; the best is at 1.2 of sgd."""
    value = lr.low + at * (lr.high - lr.low)
    known: dict[str, tuple[BaseDistribution, Any]] = {"opt": (OPTIMIZER, choice)}
    if choice != "none":
        known["lr"] = lr, value
    loss = {"sgd": (value - 1.2) ** 2, "adam": 0.3 + 100 * (value - 0.04) ** 2, "none": 0.8}
    return create_trial(
        state=state,
        value=loss[choice] if state == TrialState.COMPLETE else None,
        params={name: one for name, (_, one) in known.items()},
        distributions={name: one for name, (one, _) in known.items()},
    )


def ranges_of(common: CommonSpace) -> dict[str, tuple[float, float]]:
    """The ends of the range of each parameter of the name `lr`, by its condition."""
    return {
        one.when: (one.low, one.high)
        for name, one in common.space.parameters.items()
        if shared_name(name) == "lr"
    }


S, A, N = ("sgd", SGD), ("adam", ADAM), ("none", SGD)
BOTH = {"opt == 'sgd'": (0.5, 2.0), "opt == 'adam'": (0.0, 0.1)}
EVERYWHERE = FloatDistribution(0.0, 2.0)


@pytest.mark.parametrize(
    ("asked", "by_now", "ranges", "unclear"),
    [
        ([S, A, S, A], EVERYWHERE, BOTH, False),
        ([S, S, S, A], EVERYWHERE, BOTH, False),
        ([S, A, S, N, A], EVERYWHERE, BOTH, False),
        # That of all was changed, in the last trial of each.
        ([S, ("adam", SGD), S, ("adam", NEW), ("sgd", NEW)], NEW, {"": (0.5, 3.0)}, False),
        ([S, ("sgd", NEW)], NEW, {"": (0.5, 3.0)}, False),
        # It depends on something else, such as another number.
        ([S, ("sgd", ADAM), S, ("adam", NEW), ("sgd", ADAM), A], ADAM, {"": (0.0, 3.0)}, True),
        ([S, A, S, A, ("sgd", NEW), A], ADAM, {"": (0.0, 3.0)}, True),
        # That of one branch was changed.
        (
            [S, A, S, A, ("sgd", NEW), A, ("sgd", NEW), A],
            FloatDistribution(0.0, 3.0),
            {"opt == 'sgd'": (1.0, 3.0), "opt == 'adam'": (0.0, 0.1)},
            False,
        ),
        # Trials of one branch have no value.
        ([S, ("adam", ADAM, TrialState.FAIL), S, S], EVERYWHERE, BOTH, False),
        ([S, ("adam", ADAM, TrialState.PRUNED), S, S], EVERYWHERE, BOTH, False),
        # What is not known yet says nothing.
        ([S, S, ("adam", ADAM, TrialState.RUNNING)], SGD, {"": (0.5, 2.0)}, False),
    ],
)
def test_why_a_range_is_another_one(asked, by_now, ranges, unclear):
    trials = [trial(*one) for one in asked]
    common = NO_TRIALS.after(trials)
    assert common.ranges["lr"] == by_now
    assert ranges_of(common) == ranges
    assert bool(common.unclear) is unclear
    for again in (pickle.loads(pickle.dumps(common)), common.after(trials)):
        assert (again.ranges, again.space) == (common.ranges, common.space)
        assert again.unclear == common.unclear


def test_a_configuration_has_one_value_of_the_name():
    common = NO_TRIALS.after([trial(*one) for one in (S, A, S, A)])
    encoding = common.space.encoding
    for params in ({"opt": "sgd", "lr": 1.25}, {"opt": "adam", "lr": 0.05}):
        assert encoding.decode(encoding.encode(params)) == params
    assert encoding.encode({"opt": "adam", "lr": 1.25}) is None
    assert list(common.limited_to(["lr"]).ranges) == []
    assert common.limited_to(["lr", "opt"]) is common


def measured(order: Sequence[tuple[str, FloatDistribution]]) -> optuna.Study:
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    random = np.random.default_rng(0)
    study.add_trials([trial(*one, at=random.uniform()) for one in order])
    return study


@pytest.mark.daily(2)
@pytest.mark.parametrize("last", ["sgd", "adam", "none"])
@pytest.mark.parametrize("absent", [False, True])
def test_the_recommendation_does_not_depend_on_the_last_branch(last, absent):
    """The parameter is of all trials, or not of all."""
    others = [("none", SGD)] * 4 if absent else []
    end = {"sgd": S, "adam": A, "none": others[0] if absent else S}[last]
    study = measured([*[S, A] * 8, *others, S, A, end])
    found = study.sampler.belief(study).recommend()
    assert found.params["opt"] == "sgd"
    assert found.params["lr"] == pytest.approx(1.2, abs=0.05)
    assert found.value == pytest.approx(0.0, abs=0.02)
    for _ in range(3):  # asked for within the range of their branch
        params = study.ask({"opt": OPTIMIZER}).params
        asked = study.ask()
        choice = asked.suggest_categorical("opt", OPTIMIZER.choices)
        within = {"sgd": SGD, "adam": ADAM}.get(choice)
        if within is not None:
            proposed = asked.relative_params["lr"]
            assert within._contains(proposed)
            assert asked.suggest_float("lr", within.low, within.high) == proposed
        assert params["opt"] in OPTIMIZER.choices


def test_a_range_that_follows_another_number():
    """What is recommended was measured, so that it can be asked, whatever the last range was."""

    def objective(asked: optuna.Trial) -> float:
        low = asked.suggest_float("low", 0.0, 1.0)
        return (low - 0.2) ** 2 + (asked.suggest_float("high", low, 1.0) - 0.3) ** 2

    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    random = np.random.default_rng(0)
    for low in (*random.uniform(0.0, 0.9, 24), 0.9):
        study.enqueue_trial({"low": low, "high": random.uniform(low, 1.0)})
    study.optimize(objective, 25)
    found = study.sampler.belief(study).recommend()
    assert found.params in [one.params for one in study.trials]
    assert found.value == pytest.approx(study.best_value, abs=0.02)


@pytest.mark.long
def test_a_search_of_branches_repeats_no_end_of_a_range():
    """b has other numbers beside the one that it shares with a; c has neither."""

    def objective(asked: optuna.Trial) -> float:
        kind = asked.suggest_categorical("kind", ["a", "b", "c"])
        if kind == "a":
            return (asked.suggest_float("x", 0, 1) - 0.3) ** 2
        if kind == "c":
            return 0.5
        size = asked.suggest_int("size", 1, 100, log=True)
        return (size - 10) ** 2 / 1000 + 0.05 + 0.1 * asked.suggest_float("x", -5, 5)

    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    study.optimize(objective, 26)
    found = study.sampler.belief(study).recommend()
    assert objective(optuna.trial.FixedTrial(found.params)) < -0.35  # -.45 is the best
    others = [str(one.params) for one in study.trials if one.params["kind"] != "c"]
    assert len({*others}) >= len(others) - 4


@pytest.mark.long
@pytest.mark.parametrize("pattern", ["nested", "integer", "step", "constant", "list"])
def test_patterns_of_ranges(pattern):
    """What is recommended can be asked for, and the search finds what it finds of other names."""

    def objective(asked: optuna.Trial, own: bool = False) -> float:
        def lr(under: object, low: float, high: float, **grid: Any) -> float:
            return asked.suggest_float(f"lr of {under}" if own else "lr", low, high, **grid)

        if pattern == "nested":
            if asked.suggest_categorical("kind", ["lin", "net"]) == "lin":
                return 0.3 + (lr("lin", 0, 1) - 0.5) ** 2
            if asked.suggest_categorical("opt", ["sgd", "adam"]) == "sgd":
                return (lr("sgd", 2, 8) - 5) ** 2 / 9
            return 0.2 + (lr("adam", 0, 0.1) - 0.05) ** 2
        if pattern == "integer":
            layers = asked.suggest_int("layers", 1, 3)
            return 0.1 * (layers - 2) ** 2 + (lr(layers, 0, 4 - layers) - 1.5) ** 2
        choice = asked.suggest_categorical("opt", [[1], [2]] if pattern == "list" else ["a", "b"])
        if choice in ("a", [1]):
            return (lr("a", 0, 2, step=0.25 if pattern == "step" else None) - 0.5) ** 2
        high = 0.1 if pattern == "constant" else 8.0
        return 0.2 + 0.01 * (lr("b", 0.1, high) - 5) ** 2

    def of(**names: bool) -> tuple[float, int]:
        study = optuna.create_study(sampler=SurefootSampler(seed=1))
        study.optimize(lambda asked: objective(asked, **names), n_trials=20)
        params = study.sampler.belief(study).recommend().params
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".* out of ")
            value = objective(optuna.trial.FixedTrial(params), **names)
        return value, len({repr(one.params) for one in study.trials})

    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of lists as choices
        (value, distinct), (own_value, own_distinct) = of(), of(own=pattern != "list")
    assert value <= own_value + 0.01
    assert distinct >= own_distinct - 4


@pytest.mark.parametrize("given", [{"lr": 1.5, "opt": "adam"}, {"lr": 1.5}, {"opt": "adam"}])
def test_values_from_outside_come_before_the_ranges_of_choices(given):
    study = measured([S, A] * 6)
    study.enqueue_trial(given)
    with warnings.catch_warnings(action="ignore"):
        asked = study.ask()
        choice = asked.suggest_categorical("opt", OPTIMIZER.choices)
        value = asked.suggest_float("lr", *((0.5, 2.0) if choice == "sgd" else (0.0, 0.1)))
    assert choice == given.get("opt", choice)
    assert value == given.get("lr", value)


def test_a_middle_integer_explains_a_range():
    trials = [
        create_trial(
            value=1.0,
            params={"layers": layers, "units": 4},
            distributions={
                "layers": IntDistribution(1, 3),
                "units": IntDistribution(1, 24 // layers),
            },
        )
        for layers in (1, 2, 3) * 3
    ]
    common = NO_TRIALS.after(trials)
    conditions = {one.when for one in common.space.parameters.values()}
    assert conditions == {"", "layers <= 1", "layers >= 2 and layers <= 2", "layers >= 3"}
    assert not common.unclear


def test_a_guess_of_a_branch_waits_for_its_range():
    guess = {"opt": "adam", "lr": 0.04}
    study = optuna.create_study(
        sampler=SurefootSampler(problem=sf.Problem(guess=guess), seed=0, initial=4)
    )
    study.add_trials([trial(*one) for one in (S, S)])
    with pytest.warns(UserWarning, match="`guess` has values of lr outside the ranges"):
        study.ask().suggest_categorical("opt", OPTIMIZER.choices)  # no range has its value yet
    study.add_trials([trial(*one) for one in (A, S, A)])
    encoding = NO_TRIALS.after(study.trials).space.encoding
    assert encoding.space.has("lr", 0.04)
    assert not encoding.space.has("lr", 0.3)
    assert study.sampler.belief(study).recommend().params["opt"] in OPTIMIZER.choices


def test_names_of_ranges_are_shown_nowhere():
    study = measured([S, A] * 4)
    belief = study.sampler.belief(study)
    for wrong in (
        lambda: belief.recommend({"foo": 1}),
        lambda: belief.recommend({"lr": 9.0}),
        lambda: belief.predict([{"opt": "adam", "lr": 1.25}]),
        lambda: belief.predict([{"opt": "adam"}]),
    ):
        with pytest.raises(InvalidInput) as error:
            wrong()
        assert "\0" not in str(error.value)
        assert "x00" not in str(error.value)
    given = belief.recommend({"opt": "adam", "lr": 0.05})
    assert given.params == {"opt": "adam", "lr": 0.05}
    assert "\0" not in belief._repr_html_()


def test_pruned_and_measured_configurations_are_not_tried_again():
    """Of twelve configurations all are measured once, but for two that are pruned."""

    def objective(asked: optuna.Trial) -> float:
        choice = asked.suggest_categorical("opt", ["sgd", "adam"])
        lr = asked.suggest_int("lr", *((0, 5) if choice == "sgd" else (10, 15)))
        if lr in (3, 12):
            raise optuna.TrialPruned
        return abs(lr - 1.0)

    study = optuna.create_study(sampler=SurefootSampler(seed=0, initial=6))
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        study.optimize(objective, 13)
    known = [one.params["lr"] for one in study.trials[:12]]
    assert len({*known}) >= 11  # the first ones are random, without a space
    assert [one.params["lr"] for one in study.trials].count(3) <= 1


def test_given_values_are_those_of_measured_configurations_where_nothing_explains_the_ranges():
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    random = np.random.default_rng(0)
    for index in range(16):
        low = random.uniform(0.0, 0.9)
        params = {"opt": "ab"[index % 2], "low": low, "high": random.uniform(low, 1.0)}
        ranges = {
            "opt": CategoricalDistribution(["a", "b"]),
            "low": FloatDistribution(0.0, 1.0),
            "high": FloatDistribution(low, 1.0),
        }
        value = params["high"] - low + 0.1 * (index % 2)
        study.add_trial(create_trial(value=value, params=params, distributions=ranges))
    found = study.sampler.belief(study).recommend({"opt": "b"}).params
    assert found in [one.params for one in study.trials if one.params["opt"] == "b"]


@pytest.mark.parametrize("state", [TrialState.FAIL, TrialState.PRUNED, TrialState.RUNNING])
def test_a_range_that_was_moved_is_recommended_once_it_has_a_value(state):
    """Whatever becomes of the first trials there, the best so far is recommended until then."""
    space = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}
    moved = {**space, "x": FloatDistribution(2.0, 3.0)}
    study = optuna.create_study(sampler=SurefootSampler(seed=0, initial=4))

    def objective(asked: optuna.Trial) -> float:
        return (asked.suggest_float("x", 0.0, 1.0) - 0.3) ** 2 + asked.suggest_float("y", 0.0, 1.0)

    study.optimize(objective, 8)
    asked = [study.ask(moved)]
    if state != TrialState.RUNNING:
        study.tell(asked[0], state=state)
        asked += [study.ask(moved) for _ in range(3)]
    assert len({tuple(one.params.values()) for one in asked}) == len(asked)
    assert all(2.0 <= one.params["x"] <= 3.0 for one in asked)
    assert 0.0 <= study.sampler.belief(study).recommend().params["x"] <= 1.0
    study.tell(asked[-1], -1.0)
    assert 2.0 <= study.sampler.belief(study).recommend().params["x"] <= 3.0


def test_a_given_value_of_one_branch_is_a_choice_of_it():
    study = measured([S, A, S, A, S, A])
    assert study.sampler.belief(study).recommend({"lr": 1.5}).params == {"lr": 1.5, "opt": "sgd"}
    with pytest.raises(InvalidInput, match=r"expected values for opt, lr within .*'lr' is 1.5"):
        study.sampler.belief(study).predict([{"lr": 1.5, "opt": "adam"}])
    for value, choice in ((1.5, "sgd"), (0.05, "adam")):
        study.enqueue_trial({"lr": value})
        asked = study.ask()
        assert asked.suggest_categorical("opt", OPTIMIZER.choices) == choice
        assert asked.suggest_float("lr", 0.0, 2.0) == value


def test_trials_out_of_range_are_said_at_once():
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    study.add_trials(
        trial(*one, at=at) for one in (S, A, ("sgd", NEW), A) for at in (0.1, 0.2, 0.3)
    )
    with pytest.warns(UserWarning, match=r"trial 0 is left .* 2 other trials are left out, too"):
        study.ask().suggest_float("lr", 0.0, 0.1)

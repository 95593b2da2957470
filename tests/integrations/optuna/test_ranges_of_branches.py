"""One parameter name with several ranges: of each choice, of other numbers, and changed ones."""

import pickle
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import FrozenTrial, create_trial

from surefoot.integrations.optuna import SurefootSampler
from surefoot.integrations.optuna.common_space import NO_TRIALS, CommonSpace, Range
from surefoot.parameters.conditions import Comparison

SGD, ADAM, NEW = FloatDistribution(0.5, 2.0), FloatDistribution(0.0, 0.1), FloatDistribution(1, 3)
OPTIMIZER = CategoricalDistribution(["sgd", "adam", "none"])


def trial(choice: str, lr: FloatDistribution, at: float = 0.5) -> FrozenTrial:
    """A trial at a part of the range; the best is at 1.2 of sgd."""
    value = lr.low + at * (lr.high - lr.low)
    known: dict[str, tuple[BaseDistribution, Any]] = {"opt": (OPTIMIZER, choice)}
    if choice != "none":
        known["lr"] = lr, value
    loss = {"sgd": (value - 1.2) ** 2, "adam": 0.3 + 100 * (value - 0.04) ** 2, "none": 0.8}
    return create_trial(
        value=loss[choice],
        params={name: one for name, (_, one) in known.items()},
        distributions={name: one for name, (one, _) in known.items()},
    )


def ranges_of(common: CommonSpace) -> dict[str, dict[str, float]]:
    """The ends of the range under each choice that has its own, but for those of the widest."""
    return {
        rule.under[0].values[0]: {one.operator: one.values[0] for one in rule.within}
        for rule in common.rules
    }


S, A = ("sgd", SGD), ("adam", ADAM)
EVERYWHERE = FloatDistribution(0.0, 2.0)
BOTH = {"sgd": {">=": 0.5}, "adam": {"<=": 0.1}}


@pytest.mark.parametrize(
    ("asked", "by_now", "ranges"),
    [
        ([S, A, S, A], EVERYWHERE, BOTH),
        ([S, S, S, A], EVERYWHERE, BOTH),
        ([S, A, S, ("none", SGD), A], EVERYWHERE, BOTH),
        # The range of one choice was changed.
        (
            [S, A, S, A, ("sgd", NEW), A],
            FloatDistribution(0, 3),
            {"sgd": {">=": 1}, "adam": {"<=": 0.1}},
        ),
        # That of all was changed, in the last trial of each.
        ([S, ("adam", SGD), S, ("adam", NEW), ("sgd", NEW)], NEW, {}),
        ([S, ("adam", SGD), S, ("adam", NEW)], NEW, {}),
        ([S, ("sgd", NEW)], NEW, {}),
        # It depends on something else, such as another number.
        ([S, ("sgd", ADAM), S, ("adam", NEW), ("sgd", ADAM), A], EVERYWHERE, None),
    ],
)
def test_why_a_range_is_another_one(asked, by_now, ranges):
    common = NO_TRIALS.after([trial(*one) for one in asked])
    if ranges is None:
        assert common.ranges["lr"] == FloatDistribution(0.0, 3.0)
        assert not common.rules
    else:
        assert common.ranges["lr"] == by_now
        assert ranges_of(common) == ranges
    again = pickle.loads(pickle.dumps(common))
    assert (again.ranges, again.rules) == (common.ranges, common.rules)


def test_the_same_trials_have_the_same_ranges():
    trials = [trial(*one) for one in (S, A, S, A)]
    common = NO_TRIALS.after(trials)
    again = common.after(trials)
    assert (again.ranges, again.rules) == (common.ranges, common.rules)
    assert not common.limited_to(["lr"]).rules
    assert common.limited_to(["lr", "opt"]) is common


def measured(order: Sequence[tuple[str, FloatDistribution]]) -> optuna.Study:
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    random = np.random.default_rng(0)
    study.add_trials([trial(*one, at=random.uniform()) for one in order])
    return study


@pytest.mark.parametrize("last", ["sgd", "adam", "none"])
@pytest.mark.parametrize("absent", [False, True])
def test_the_recommendation_does_not_depend_on_the_last_branch(last, absent):
    """The parameter is of all trials, or not of all."""
    others = [("none", SGD)] * 4 if absent else []
    end = {"sgd": S, "adam": A, "none": others[0] if absent else S}[last]
    study = measured([*[S, A] * 8, *others, S, A, end])
    found = study.sampler.belief(study).recommend()
    assert found.params["opt"] == "sgd"
    assert found.params["lr"] == pytest.approx(1.2, abs=0.15)
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
    """After a trial with a narrow one, all that was asked for can be recommended."""

    def objective(asked: optuna.Trial) -> float:
        low = asked.suggest_float("low", 0.0, 1.0)
        return (low - 0.2) ** 2 + (asked.suggest_float("high", low, 1.0) - 0.3) ** 2

    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    random = np.random.default_rng(0)
    for low in (*random.uniform(0.0, 0.9, 24), 0.9):
        study.enqueue_trial({"low": low, "high": random.uniform(low, 1.0)})
    study.optimize(objective, 25)
    found = study.sampler.belief(study).recommend()
    assert found.params["high"] == pytest.approx(0.3, abs=0.15)
    assert found.value < 0.1


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


def test_a_changed_range_of_a_conditional_number_is_chosen_within():
    study = optuna.create_study(sampler=SurefootSampler(seed=0))
    random = np.random.default_rng(0)
    for index in range(24):
        lr = FloatDistribution(0.0, 4.0) if index < 20 else FloatDistribution(2.0, 4.0)
        value = random.uniform(lr.low, lr.high)
        has = index % 3 > 0
        study.add_trial(
            create_trial(
                value=(value - 2.4) ** 2 if has else 1.0,
                params={"opt": "sgd", "lr": value} if has else {"opt": "none"},
                distributions={"opt": OPTIMIZER, "lr": lr} if has else {"opt": OPTIMIZER},
            )
        )
    found = study.sampler.belief(study).recommend()
    assert found.params["lr"] == pytest.approx(2.4, abs=0.2)
    narrow = FloatDistribution(3.0, 4.0)
    study.enqueue_trial({"opt": "sgd"})
    asked = study.ask()
    assert asked.suggest_categorical("opt", OPTIMIZER.choices) == "sgd"
    proposed = asked.suggest_float("lr", narrow.low, narrow.high)
    assert proposed == pytest.approx(3.0, abs=0.3)  # by the model, not at random


@pytest.mark.parametrize("given", [{"lr": 1.5, "opt": "adam"}, {"lr": 1.5}, {"opt": "adam"}])
def test_values_from_outside_come_before_the_ranges_of_choices(given):
    study = measured([S, A] * 6)
    study.enqueue_trial(given)
    with warnings.catch_warnings(action="ignore"):
        asked = study.ask()
        choice = asked.suggest_categorical("opt", OPTIMIZER.choices)
        value = asked.suggest_float("lr", *((0.5, 2.0) if choice == "sgd" else (0.0, 0.1)))
    assert choice == given.get("opt", "sgd")
    assert value == given.get("lr", value)


def test_a_range_as_a_rule_of_a_space():
    (rule,) = Range.narrowing("lr", ADAM, EVERYWHERE, (Comparison("opt", "==", ("adam",)),))
    study = measured([S, A] * 3)
    space = NO_TRIALS.after(study.trials).space
    whole = type(space)(space.parameters, [rule])
    assert whole.violated({"opt": "adam", "lr": 0.2}) == ("the function Range of lr, opt",)
    assert not whole.violated({"opt": "sgd", "lr": 0.2})
    assert not whole.violated({"opt": "adam", "lr": 0.1})

"""Why trials fail, and what failed trials have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from support.study_doubles import Scripted, trials_of
from surefoot.tune.measuring.measurement import Failure
from surefoot.tune.stopping import Stop
from surefoot.tune.study.failures import explained_failure, failure_lines, shared_property
from surefoot.tune.study.trial_attributes import FAILURE, OUTPUT
from surefoot.tune.workers.worker_loop import tune

DISTRIBUTIONS = {
    "x": FloatDistribution(0.0, 1.0),
    "threads": IntDistribution(1, 64),
    "defrag": CategoricalDistribution(["yes", "no"]),
}


def failed(reason: str, output: str, **params: Any) -> FrozenTrial:
    return create_trial(
        state=TrialState.FAIL,
        params=params,
        distributions={name: DISTRIBUTIONS[name] for name in params},
        user_attrs={FAILURE: reason, OUTPUT: output},
    )


def measured(**params: Any) -> FrozenTrial:
    distributions = {name: DISTRIBUTIONS[name] for name in params}
    return create_trial(params=params, distributions=distributions, value=1.0)


@pytest.mark.parametrize(
    ("reason", "output", "text"),
    [
        ("exit status 3", "starting\nout of memory\n\n", "exit status 3: out of memory"),
        ("exit status 3", "", "exit status 3"),
        ("exit status 3", " \n", "exit status 3"),
        ("ValueError: no", "Traceback\nValueError: no\n", "ValueError: no"),
        ("exit status 1", "\x1b[31mred\x1b[0m", "exit status 1: red"),
    ],
)
def test_a_failure_says_what_was_printed_last(reason, output, text):
    assert explained_failure(failed(reason, output)) == text


def choosing(row: np.ndarray) -> FrozenTrial:
    """A trial with a choice of five of each of many parameters."""
    params = {f"p{index}": "abcde"[one] for index, one in enumerate(row)}
    distributions = dict.fromkeys(params, CategoricalDistribution([*"abcde"]))
    return create_trial(params=params, distributions=distributions, value=1.0)


def configurations(number: int) -> Iterable[dict[str, Any]]:
    random = np.random.default_rng(0)
    for _ in range(number):
        yield {
            "x": float(random.uniform()),
            "threads": int(random.integers(1, 65)),
            "defrag": ["yes", "no"][random.integers(2)],
        }


@pytest.mark.parametrize(
    ("fails", "text"),
    [
        (lambda one: one["defrag"] == "yes", "defrag = yes, as no trial with a measurement has."),
        (lambda one: one["threads"] >= 50, "threads >= 50, as no trial with a measurement has."),
        (lambda one: one["x"] < 0.25, "x <= 0.23064, as no trial with a measurement has."),
    ],
)
def test_what_failures_share_is_found(fails, text):
    rounds = [
        failed("exit status 1", "", **one) if fails(one) else measured(**one)
        for one in configurations(40)
    ]
    failures = [trial for trial in rounds if trial.state == TrialState.FAIL]
    assert shared_property(failures, rounds) == f"All {len(failures)} have {text}"


def test_of_texts_and_numbers_no_range_is_shared():
    choices = CategoricalDistribution(["auto", 1, 8, 16])
    rounds = []
    for value in ["auto", 1, 8, 16] * 5:
        fails = value in (8, 16)
        rounds.append(
            create_trial(
                state=TrialState.FAIL if fails else TrialState.COMPLETE,
                value=None if fails else 1.0,
                params={"threads": value, "same": 1},
                distributions={"threads": choices, "same": CategoricalDistribution([1, 2])},
            )
        )
    failures = [trial for trial in rounds if trial.state == TrialState.FAIL]
    assert not shared_property(failures, rounds)
    numbers = [trial for trial in rounds if trial.params["threads"] != "auto"]
    assert "threads >= 8" in shared_property(failures, numbers)


def test_failures_at_random_share_nothing():
    for seed in range(20):
        chosen = np.random.default_rng(seed).permutation(40)[:6]
        rounds = [
            failed("exit status 1", "", **one) if index in chosen else measured(**one)
            for index, one in enumerate(configurations(40))
        ]
        assert not shared_property([rounds[index] for index in chosen], rounds), seed


def test_of_many_values_one_is_rarely_shared_by_chance():
    """For all that could have been shared: with 0.005, where one in eleven was said to be."""
    said, random = 0, np.random.default_rng(1)
    for _ in range(400):
        drawn = random.integers(0, 5, (40, 20))
        rounds = [choosing(row) for row in drawn]
        chosen = random.choice(40, 4, replace=False)
        said += bool(shared_property([rounds[index] for index in chosen], rounds))
    assert said <= 10


def test_a_study_says_how_many_failed_and_why(write_study):
    trials = trials_of(write_study(), rounds=2)
    failure = Failure("exit status 3", "starting\nout of memory", 0.1)
    tune(trials, Scripted([failure] * 2), Stop())
    assert failure_lines(trials.opened.state().trials) == (
        "2 of 2 trials failed, the first, trial 0: exit status 3: out of memory.",
    )

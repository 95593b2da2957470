"""Values of parameters that are inactive beside the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import surefoot as sf
from surefoot.parameters import Choice, Float, Int, Space
from surefoot.types import InvalidInput

SPACE = Space(
    {
        "x": Float(0, 1),
        "size": Int(1, 9, when="c > 1 and mode == 'deep'"),
        "c": Int(0, 100, when="j == 'WAL'"),
        "j": Choice(["OFF", "WAL"]),
        "mode": Choice(["deep", "flat"]),
    }
)
KERNEL = sf.kernels.squared_exponential(0.3)


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({}, []),
        ({"j": "OFF"}, ["size", "c"]),
        ({"j": "WAL"}, []),
        ({"j": "WAL", "c": 1}, ["size"]),
        ({"j": "OFF", "c": 5}, ["size", "c"]),
        ({"c": 5, "size": 2}, []),
        ({"mode": "flat", "size": 2}, ["size"]),
    ],
)
def test_what_is_excluded_by_the_values_of_others(params: dict[str, Any], names: list[str]) -> None:
    assert SPACE.excluded(params) == names
    assert not {*names} & {*SPACE.active(params)}


def _optimizer() -> sf.Optimizer:
    made = sf.Optimizer(SPACE, sf.Method(KERNEL))
    made.tell({"x": 0.5, "j": "OFF", "mode": "flat"}, 1.0)
    return made


DOORS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "ask": lambda given: _optimizer().ask(within=given),
    "recommend": lambda given: _optimizer().recommend(within=given),
    "guess": lambda given: sf.algorithms.robust_ucb(sf.Problem(SPACE, guess=given), KERNEL),
}


@pytest.mark.daily(1)
@pytest.mark.parametrize("name", DOORS)
def test_a_value_of_an_inactive_parameter_is_refused_before_a_choice(name: str) -> None:
    for given, message in (
        ({"j": "OFF", "c": 7}, r"'c' is 7 in .*only when j == 'WAL': leave it out"),
        ({"c": 7, "j": "OFF", "x": 0.1}, r"'c' is 7 .*leave it out"),
        ({"mode": "flat", "size": 2}, r"'size' is 2 .* mode == 'deep': leave it out"),
        ({"j": "OFF", "size": 2}, r"'size' is 2 .*leave it out"),
    ):
        with pytest.raises(InvalidInput, match=message):
            DOORS[name](given)
    for given in ({"c": 7}, {"j": "WAL", "c": 7}, {"j": "OFF"}, {"size": 2}):
        DOORS[name](given)  # active where the others, which are still to be chosen, make it so


def test_where_one_is_told_it_is_ignored() -> None:
    made = _optimizer()
    made.tell({"x": 0.25, "j": "OFF", "mode": "deep", "c": 100, "size": 3}, 2.0)
    assert made.recommend(by="mean").params.keys() == {"x", "j", "mode"}
    assert len(made.history.sites) == 2


@pytest.mark.long
def test_the_sampler_of_a_study_refuses_such_a_guess() -> None:
    optuna = pytest.importorskip("optuna")
    from surefoot.integrations.optuna import SurefootSampler

    space = Space({"j": Choice(["OFF", "WAL"]), "c": Int(0, 100, when="j == 'WAL'")})
    with pytest.raises(InvalidInput, match=r"'c' is 7 .*leave it out"):
        SurefootSampler(sf.Problem(guess={"j": "OFF", "c": 7}), search_space=space)
    SurefootSampler(sf.Problem(guess={"c": 7}), search_space=space)

    def objective(trial: Any) -> float:
        if trial.suggest_categorical("j", ["OFF", "WAL"]) == "OFF":
            return trial.suggest_float("x", 0.0, 1.0)
        return trial.suggest_float("x", 0.0, 1.0) + trial.suggest_int("c", 0, 100)

    # A condition that is only found in the trials ends no study.
    study = optuna.create_study(
        sampler=SurefootSampler(sf.Problem(guess={"j": "OFF", "c": 7}), seed=0)
    )
    study.optimize(objective, 14)
    assert len(study.trials) == 14

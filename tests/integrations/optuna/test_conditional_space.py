"""Conditional parameters and special values: their encoding, and that the search finds the best."""

from __future__ import annotations

import random

import optuna
import pytest
import torch
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial

from support.study_spaces import space_of
from surefoot.integrations.optuna import SurefootSampler

SPACE = space_of(
    {
        "depth": FloatDistribution(0.0, 1.0),
        "journal": CategoricalDistribution(["OFF", "WAL"]),
        "threads": IntDistribution(1, 8),
        "checkpoint": IntDistribution(100, 10_000, log=True),
        "x": FloatDistribution(0.0, 1.0),
    },
    when={
        "depth": "threads in [2, 3]",
        "threads": "checkpoint > 0 and x <= 0.5",
        "checkpoint": "journal == 'WAL'",
    },
    special={"checkpoint": [0]},
)
ENCODING = SPACE.encoding


@pytest.mark.long
def test_points_and_configurations_correspond():
    box = ENCODING.box
    for point in box.sample(256, torch.Generator().manual_seed(0)):
        params = ENCODING.decode(point)
        assert list(params) == SPACE.active(params)
        rounded = ENCODING.rounded(point)
        assert ENCODING.decode(rounded) == params
        assert torch.allclose(box.snap(rounded.unsqueeze(0))[0], rounded)


def test_values_of_inactive_parameters_do_not_count_and_missing_active_ones_do():
    point = ENCODING.encode({"journal": "OFF", "x": 0.2})
    assert torch.equal(ENCODING.encode({"journal": "OFF", "x": 0.2, "checkpoint": 0}), point)
    assert ENCODING.encode({"journal": "WAL", "x": 0.2}) is None
    assert ENCODING.encode({"journal": "WAL", "checkpoint": 50, "x": 0.9}) is None
    off = ENCODING.encode({"journal": "WAL", "checkpoint": 0, "x": 0.9})
    assert ENCODING.decode(off)["checkpoint"] == 0


def test_an_inner_special_value_is_no_value_of_the_scale():
    encoding = space_of({"n": IntDistribution(0, 4)}, special={"n": [2]}).encoding
    box = encoding.box
    drawn = [encoding.decode(p)["n"] for p in box.sample(128, torch.Generator().manual_seed(0))]
    assert set(drawn) == {0, 1, 2, 3, 4}
    assert len(box.discrete[0][1]) == 5
    kinds = {n: tuple(encoding.encode({"n": n}).tolist())[2:] for n in range(5)}
    assert kinds[2] == (0.0, 1.0)
    assert {kinds[n] for n in (0, 1, 3, 4)} == {(1.0, 0.0)}


def _study(seed: int, space, objective, rounds: int) -> dict:
    noise = random.Random(seed)
    sampler = SurefootSampler(seed=seed, search_space=space)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: objective(trial) + noise.gauss(0.0, 0.05), rounds)
    best = sampler.belief(study).recommend()
    for trial in study.trials:
        assert set(trial.params) == set(space.active(trial.params))
    return best.params


@pytest.mark.long
def test_an_optimum_on_a_branch_is_found():
    space = space_of(
        {
            "journal": CategoricalDistribution(["OFF", "DELETE", "WAL"]),
            "checkpoint": FloatDistribution(0.0, 1.0),
        },
        when={"checkpoint": "journal == 'WAL'"},
    )

    def objective(trial: Trial) -> float:
        journal = trial.suggest_categorical("journal", ["OFF", "DELETE", "WAL"])
        if journal != "WAL":
            return {"OFF": 0.5, "DELETE": 0.6}[journal]
        return 4.0 * (trial.suggest_float("checkpoint", 0.0, 1.0) - 0.7) ** 2

    found = _study(0, space, objective, 18)
    assert found["journal"] == "WAL"
    assert abs(found["checkpoint"] - 0.7) < 0.15


@pytest.mark.long
@pytest.mark.parametrize("value_of_off", [-1.0, 2.0])
def test_a_special_value_is_found_if_it_is_best_and_left_if_it_is_worst(value_of_off):
    space = space_of({"cache": FloatDistribution(1.0, 100.0, log=True)}, special={"cache": [0]})

    def objective(trial: Trial) -> float:
        cache = trial.suggest_float("cache", 0.0, 100.0)
        return value_of_off if cache == 0 else 2.0 * abs(cache - 10.0) / 90.0

    found = _study(1, space, objective, 16)["cache"]
    assert found == 0.0 if value_of_off < 0 else abs(found - 10.0) < 8.0


@pytest.mark.long
@pytest.mark.parametrize("special", [0.0, 0.5, 1.0])
def test_a_special_value_on_the_scale_of_a_float_is_apart_from_it(special: float):
    """The search must not take it for the end of the scale, which it would measure for ever."""
    space = space_of({"c": FloatDistribution(0.0, 1.0)}, special={"c": [special]})
    encoding = space.encoding
    numbers = torch.tensor([special, 0.25], dtype=torch.float64)
    points = encoding.box.arcs[0].at(numbers)

    values = [encoding.decode(point)["c"] for point in points]

    assert values[0] != special
    assert values == pytest.approx([special, 0.25], abs=1e-8)

    def objective(trial: Trial) -> float:
        value = trial.suggest_float("c", 0.0, 1.0)
        return 10.0 if value == special else abs(value - special) + 0.2

    sampler = SurefootSampler(seed=0, search_space=space)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=14)

    assert sampler.belief(study).recommend().params["c"] == pytest.approx(special, abs=0.1)
    assert sampler.belief(study).recommend().params["c"] != special


@pytest.mark.long
@pytest.mark.parametrize("condition", ["x == 0.3", "x > 0.6", "x <= 0.3", "x in [0.3, 0.7]"])
def test_conditions_on_a_float_with_a_step_are_those_of_its_decoded_values(condition: str):
    space = space_of(
        {"x": FloatDistribution(0.0, 1.0, step=0.1), "y": FloatDistribution(0.25, 1.0)},
        when={"y": condition},
    )
    encoding = space.encoding
    columns = encoding.parameters["y"].columns
    for point in encoding.box.sample(256, torch.Generator().manual_seed(0)):
        active = bool((point[columns] != 0.0).any())  # to the model
        assert ("y" in encoding.decode(point)) is active


def test_a_category_of_one_choice_is_left_out():
    space = {"a": CategoricalDistribution([1]), "b": FloatDistribution(0.0, 1.0)}
    study = optuna.create_study(sampler=SurefootSampler(seed=0, search_space=space))
    study.optimize(
        lambda t: t.suggest_categorical("a", [1]) * t.suggest_float("b", 0.0, 1.0), n_trials=3
    )
    assert len(study.get_trials(states=[optuna.trial.TrialState.COMPLETE])) == 3


def test_a_limited_space_leaves_out_what_depends_on_other_parameters():
    space = space_of(
        {
            "mode": CategoricalDistribution(["a", "b"]),
            "size": IntDistribution(1, 9),
            "share": FloatDistribution(0.0, 1.0),
            "pages": CategoricalDistribution([1, 2, 4]),
        },
        when={"size": "mode == 'a'", "share": "size > 2"},
        special={"size": [0]},
        ordered=["pages"],
    )
    assert space.limited_to(["mode", "size", "share", "pages"]) == space
    assert list(space.limited_to(["size", "share", "pages"]).parameters) == ["pages"]
    assert list(space.limited_to(["mode", "share"]).parameters) == ["mode"]
    assert space.limited_to(["mode", "size"]).parameters["size"].special == (0,)

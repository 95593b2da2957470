"""A guess of where the optimum is: in which units it counts, when it fades, and where it may be."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import optuna
import pytest
import torch
from optuna.distributions import CategoricalDistribution, FloatDistribution

import surefoot as sf
from surefoot.acquisition import UpperConfidenceBound
from surefoot.acquisition.guess import Guess, NearGuess
from surefoot.integrations.optuna import SurefootSampler
from surefoot.tune import StudyFile, StudyFileError

EXAMPLE = Path(__file__).parents[2] / "examples" / "guess.py"
PLANE = sf.Box([0.0, 10.0], [1.0, 30.0])
MIXED = sf.parameters.Space(
    {"x": sf.parameters.Float(0, 1), "kind": sf.parameters.Choice(["a", "b", "c"])}
)
STUDY = """
study = { name = "demo", direction = "minimize", rounds = 8 }
[parameters]
threads = { type = "int", low = 1, high = 32, guess = 8 }
cache = { type = "float", low = 0, high = 1, special = [-1] }
mode = { type = "categorical", choices = ["a", "b"] }
"""


def test_the_guess_is_the_first_point_and_half_of_the_design_is_near_it() -> None:
    guess = PLANE.given({1: 14.1})
    asked, spread = (
        torch.stack(
            [one.point for one in sf.algorithms.robust_ucb(what, initial=9, seed=3).ask_batch(9)]
        )
        for what in (sf.Problem(PLANE, guess=guess), PLANE)
    )
    assert float(asked[0, 1]) == 14.1  # to the last bit
    assert torch.equal(asked[:, 0], spread[:, 0])  # nothing is guessed of the other variable
    assert torch.equal(asked[1::2], spread[1::2])
    assert float((asked[::2, 1] - 14.0).abs().mean()) < 4.0


def test_a_category_is_guessed() -> None:
    optimizer = sf.algorithms.robust_ucb(sf.Problem(MIXED, guess={"kind": "b"}), initial=8, seed=0)
    kinds = [one.params["kind"] for one in optimizer.ask_batch(8)]
    assert kinds[::2].count("b") >= 3


def test_density_is_that_of_the_normal_near_the_guess_and_bounded_far_from_it() -> None:
    guess, width = Guess({1: 14.0}), 0.15 * 20.0
    at = torch.tensor([[0.2, 14.0], [0.9, 14.0 + 0.1 * width], [0.9, 30.0]], dtype=torch.float64)
    found = guess.log_density(at, PLANE).tolist()
    assert found[0] == 0.0
    assert found[1] == pytest.approx(-0.005, rel=1e-3)
    assert -8.0 < found[2] < -6.0


def told(rewards: list[float]) -> sf.Optimizer:
    """Rewards near the guess of x = 0.2 and far from it."""
    kernel = sf.kernels.squared_exponential(0.1)
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), kernel, ridge=0.01)
    optimizer.tell_all([[0.2], [0.15], [0.8], [0.9]], rewards)
    return optimizer


@pytest.mark.parametrize(
    ("rewards", "least", "most"),
    [
        ([1.0, 0.5, -1.0, -0.5], 1.0, 1.0),
        ([1.0, 0.5, 0.5, 1.0], 0.1, 0.4),  # as good as what is far: a quarter
        ([-1.0, -0.5, 1.0, 0.5], 0.0, 0.01),
    ],
)
def test_the_weight_fades_where_what_is_far_is_better(rewards, least, most) -> None:
    belief = told(rewards).belief()
    rule = NearGuess(Guess({0: 0.2}), UpperConfidenceBound())
    x = torch.tensor([[0.2], [0.8]], dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    more = rule(belief.candidates, generator)(x) - UpperConfidenceBound()(
        belief.candidates, generator
    )(x)
    assert float(more[0]) == 0.0
    whole = rule.guess.log_density(x, belief.space.design)[1] * belief.posterior.scale
    assert least - 1e-9 <= float(more[1] / whole) <= most + 1e-9


def test_units_do_not_matter() -> None:
    asked = []
    for scale in (1.0, 1024.0):
        kernel = sf.kernels.squared_exponential([0.3, 6.0])
        guess = PLANE.given({0: 0.3})
        optimizer = sf.algorithms.robust_ucb(sf.Problem(PLANE, guess=guess), kernel, seed=0)
        xs = PLANE.sample(9, torch.Generator().manual_seed(0))
        optimizer.tell_all(xs, scale * -(xs[:, 0] - 0.5).square())
        asked.append(optimizer.ask().point)
    assert torch.equal(*asked)


@pytest.mark.parametrize(
    ("space", "guess", "message"),
    [
        (MIXED, {"y": 1}, "y"),
        (MIXED, {"x": 2.0}, "'x' is 2.0"),
        (MIXED, {}, "guess"),
        (MIXED, 0.3, "guess"),
        (PLANE, {"x": 0.3}, "no named parameters"),
        (PLANE, PLANE, "box.given"),
        (PLANE, sf.Box([0.0], [1.0]).given({0: 0.5}), "guess"),
        (sf.Arms([[0.0], [1.0]]), PLANE, "Arms"),
    ],
)
def test_a_wrong_guess_is_refused(space: Any, guess: Any, message: str) -> None:
    with pytest.raises(sf.InvalidInput, match=message):
        sf.algorithms.robust_ucb(sf.Problem(space, guess=guess))


@pytest.mark.parametrize("guess", [{"x": 2.0}, {"y": 0.5}, {"kind": "z"}, 0.5, {1: 0.5}])
def test_a_wrong_guess_of_a_study_is_refused(guess: Any) -> None:
    space = {"x": FloatDistribution(0.0, 1.0), "kind": CategoricalDistribution(["a", "b"])}
    with pytest.raises(sf.InvalidInput):
        SurefootSampler(sf.Problem(guess=guess), search_space=space)


def test_without_a_declared_space_a_guess_is_of_the_parameters_that_trials_have() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        sampler=SurefootSampler(sf.Problem(guess={"x": 0.25, "z": 1}), seed=0)
    )
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)
    assert study.trials[1].params["x"] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("guess = 8", "guess = 80", "from 1 to 32"),
        ("guess = 8", "guess = 2.5", "whole number"),
        ("special = [-1]", "guess = 2", "from 0 to 1"),
        ('choices = ["a", "b"]', 'choices = ["a", "b"], guess = "c"', "one of the choices"),
    ],
)
def test_a_wrong_guess_of_a_study_file_names_the_key(tmp_path, old, new, message) -> None:
    path = tmp_path / "study.toml"
    assert old in STUDY
    path.write_text(STUDY.replace(old, new))
    with pytest.raises(StudyFileError, match=message) as error:
        StudyFile.load(path)
    assert ".guess" in str(error.value)


def test_guesses_of_a_study_file(tmp_path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace("special = [-1]", "special = [-1], guess = -1"))
    assert StudyFile.load(path).guess == {"threads": 8, "cache": -1.0}


@pytest.mark.long
def test_example(capsys: pytest.CaptureFixture[str]) -> None:
    best = runpy.run_path(str(EXAMPLE))["best"].params
    assert abs(best["threads"] - 12) <= 3
    assert "latency" in capsys.readouterr().out

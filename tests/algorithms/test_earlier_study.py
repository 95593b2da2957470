"""An earlier run on a related system as a prior: when it is used, and what follows from it."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
import torch
from optuna.distributions import FloatDistribution
from optuna.trial import create_trial
from torch import Tensor

import surefoot as sf
from support.optimizers import optimizer_of
from support.variants import default_on
from surefoot.hyperparameters import HyperparameterFit
from surefoot.hyperparameters.earlier import Earlier, Trend, earlier_on
from surefoot.integrations.optuna import SurefootSampler
from surefoot.parameters import Choice, Float, Space
from surefoot.tune import StudyFile, StudyFileError
from surefoot.tune.study.opened_study import create_study

EXAMPLE = Path(__file__).parents[2] / "examples" / "prior_study.py"
PLANE = sf.Box([0.0, 0.0], [1.0, 2.0])
LINE = {"x": FloatDistribution(0.0, 1.0)}
STUDY = """
study = { name = "NAME", direction = "minimize", rounds = 8 }
[parameters]
x = { type = "float", low = 0, high = 1 }
"""


def waves(x: Tensor) -> Tensor:
    return torch.sin(7.0 * x[:, 0]) * torch.cos(3.0 * x[:, 1])


def ridges(x: Tensor) -> Tensor:
    return torch.cos(9.0 * x[:, 0] + 5.0 * x[:, 1])


def earlier(function: Any = waves, number: int = 60) -> Earlier:
    points = PLANE.sample(number, torch.Generator().manual_seed(0))
    rewards = 100.0 + 5.0 * function(points)
    rewards[3] = 900.0  # an outlier, which says nothing
    return earlier_on(PLANE, points, rewards)


@pytest.fixture(scope="module")
def waves_earlier() -> Earlier:
    return earlier()


def told(known: Earlier | None, number: int = 12, seed: int = 1) -> sf.Optimizer:
    """Rewards of the waves in other units."""
    rule = HyperparameterFit(warped=True, **({} if known is None else {"earlier": known}))
    parts = {"features": sf.Nystrom(sf.PivotedCholesky()), "estimator": sf.StudentT()}
    optimizer = optimizer_of(PLANE, rule, seed=0, **parts)
    points = PLANE.sample(number, torch.Generator().manual_seed(seed))
    noise = 0.05 * np.random.default_rng(seed).normal(size=number)
    optimizer.tell_all(points, waves(points) + torch.from_numpy(noise))
    return optimizer


def error(optimizer: sf.Optimizer) -> float:
    """Root mean square error of the predictions."""
    at = PLANE.sample(256, torch.Generator().manual_seed(9))
    value, _, _ = optimizer.belief().predict(at)
    return float((value - waves(at)).square().mean().sqrt())


def trend(optimizer: sf.Optimizer) -> Trend:
    return optimizer.belief().outcome.fitted.trend


def test_a_related_run_halves_the_error_in_other_units() -> None:
    optimizer = told(earlier())
    assert trend(optimizer).slope == pytest.approx(0.2, rel=0.1)
    assert error(optimizer) < 0.5 * error(told(None))


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_unrelated_run_is_left_out(seed: int) -> None:
    optimizer, plain = told(earlier(ridges), seed=seed), told(None, seed=seed)
    assert trend(optimizer).is_none
    assert error(optimizer) == error(plain)


@pytest.mark.daily(1)
@pytest.mark.parametrize("seed", [5, 9, 14])
def test_a_chance_likeness_of_few_rewards_is_no_relation(seed: int, waves_earlier: Earlier) -> None:
    generator = torch.Generator().manual_seed(seed)
    points = PLANE.sample(5, generator)
    rewards = torch.randn(5, dtype=torch.float64, generator=generator)
    optimizer = sf.Optimizer(
        PLANE, sf.Method(HyperparameterFit(warped=True, earlier=waves_earlier))
    )
    optimizer.tell_all(points, rewards)
    assert trend(optimizer).is_none


def test_few_rewards_say_nothing_of_it() -> None:
    assert trend(told(earlier(), number=4)).is_none


@pytest.mark.long
def test_the_trend_is_in_mean_draws_residuals_and_gradients(tmp_path: Path) -> None:
    optimizer = told(earlier())
    belief, at = optimizer.belief(), PLANE.sample(6, torch.Generator().manual_seed(4))
    posterior = belief.posterior
    mean = posterior.mean(at)
    assert torch.allclose(belief.posterior.joint(at).mean, mean)
    assert torch.allclose(posterior.evaluated_mean(posterior.evaluate(at)), mean)
    drawn = belief.draws(at, 2048)
    assert float((drawn.mean(1) - mean).abs().max()) < 0.1
    assert float(belief.outcome.residuals.abs().median()) < 0.2
    x = at[:1].clone().requires_grad_()
    (slope,) = torch.autograd.grad(posterior.mean(x).sum(), x)
    step = torch.tensor([[1e-5, 0.0]], dtype=torch.float64)
    difference = (posterior.mean(at[:1] + step) - posterior.mean(at[:1] - step)) / 2e-5
    assert float(slope[0, 0]) == pytest.approx(float(difference), rel=1e-4)
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    assert torch.equal(loaded.belief().posterior.mean(at), mean)
    later = belief.conditioned(at[:1], [float(mean[0]) + 0.1]).posterior
    assert 0.0 < float(later.mean(at[:1]) - mean[0]) < 0.1  # not the trend a second time


@pytest.mark.long
def test_what_it_recommends_is_measured_first() -> None:
    old = sf.algorithms.robust_ucb(PLANE, seed=0)
    points = PLANE.sample(20, torch.Generator().manual_seed(0))
    old.tell_all(points, -(points - 0.6).square().sum(-1))
    best = old.recommend("mean").point
    first = sf.algorithms.robust_ucb(sf.Problem(PLANE, prior=old.belief()), seed=1).ask()
    assert torch.allclose(first.point, best)
    guess = PLANE.given({0: 0.1})
    first = sf.algorithms.robust_ucb(
        sf.Problem(PLANE, prior=old.belief(), guess=guess), seed=1
    ).ask()
    assert float(first.point[0]) == 0.1
    assert torch.allclose(first.point[1], best[1])


@pytest.mark.daily(4)
@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"prior": 3}, "prior"),
        ({"kernel": sf.kernels.squared_exponential(0.2)}, "kernel"),
        ({"fidelity": sf.Fidelity([1, 2], [1, 2])}, "fidelity"),
        ({"policy": sf.acquisition.NoisyExpectedImprovement()}, "NoisyExpectedImprovement"),
        ({"space": sf.Arms([[0.0, 0.0], [1.0, 1.0]])}, "Box"),
        ({"space": sf.Box([0.0], [1.0])}, "coordinates"),
    ],
)
def test_a_prior_that_cannot_be_used_is_refused(more: dict[str, Any], message: str) -> None:
    old = sf.algorithms.robust_ucb(PLANE, seed=0)
    old.tell_all([[0.1, 0.2], [0.5, 0.5], [0.7, 0.1]], [1.0, 2.0, 0.0])
    options = {"space": PLANE, "prior": old.belief(), **more}
    with pytest.raises(sf.InvalidInput, match=message):
        default_on(**options)


def study_of(number: int, direction: str = "minimize", name: str = "x") -> optuna.Study:
    study = optuna.create_study(direction=direction)
    for i in range(number):
        x, ranges = (0.618 * i) % 1.0, {name: LINE["x"]}
        study.add_trial(create_trial(params={name: x}, distributions=ranges, value=(x - 0.3) ** 2))
    return study


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (study_of(1), "at least 2"),
        (study_of(5, name="y"), "at least 2"),
        (study_of(5, "maximize"), "direction"),
    ],
)
def test_another_study_fails_the_trial(prior: optuna.Study, message: str) -> None:
    study = optuna.create_study(sampler=SurefootSampler(sf.Problem(prior=prior), search_space=LINE))
    with pytest.raises(sf.InvalidInput, match=message):
        study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=1)


def test_what_is_no_study_is_refused_at_once() -> None:
    with pytest.raises(sf.InvalidInput, match="expected a study"):
        SurefootSampler(sf.Problem(prior=3))  # type: ignore[arg-type]
    levels = sf.Fidelity([1, 2], [1, 2])
    with pytest.raises(sf.InvalidInput, match="leave one"):
        SurefootSampler(sf.Problem(prior=study_of(5), fidelity=levels))


def write(path: Path, name: str, more: str = "") -> Path:
    path.write_text(STUDY.replace("NAME", name) + more)
    return path


@pytest.mark.long
def test_an_older_study_of_a_study_file_is_measured_first(tmp_path: Path) -> None:
    older = create_study(StudyFile.load(write(tmp_path / "old.toml", "old")))
    for one in study_of(12).trials:
        older.study.add_trial(one)
    new = write(tmp_path / "new.toml", "new", '[prior]\nfrom = "old.db"\n')
    study = create_study(StudyFile.load(new)).study
    assert study.ask(LINE).params["x"] == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize(
    ("more", "key", "message"),
    [
        ('[prior]\nfrom = "none.db"', "prior.from", "no storage"),
        ('[prior]\nfrom = "new.toml"', "prior.from", "no storage"),
        ("[prior]\nfrom = 3", "prior.from", "old.db"),
        ("[prior]", "prior.from", "missing"),
        ('[prior]\nform = "a.db"', "prior.form", "from"),
        (
            '[prior]\nfrom = "a.db"\n[fidelity]\ns = { levels = [1, 2], cost = [1, 2] }',
            "prior",
            "one of the two",
        ),
    ],
)
def test_errors_of_a_study_file_name_the_key(tmp_path, more, key, message) -> None:
    path = write(tmp_path / "new.toml", "new", more + "\n")
    with pytest.raises(StudyFileError, match=message) as error:
        create_study(StudyFile.load(path))
    assert f"{key}:" in str(error.value)


@pytest.mark.long
def test_example(capsys: pytest.CaptureFixture[str]) -> None:
    best = runpy.run_path(str(EXAMPLE))["best"].params
    assert abs(best["threads"] - 13) <= 3
    assert "latency" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize(
    ("when", "rules"), [("", ["a + b <= 6"]), ("k == 'x'", [])], ids=["a rule", "a condition"]
)
def test_a_guess_is_alone_where_rules_or_conditions_join_parameters(when, rules) -> None:
    space = Space(
        {
            "k": Choice(["x", "y"]),
            "c": Float(1.0, 10.0, when=when),
            "a": Float(0.0, 10.0),
            "b": Float(0.0, 10.0),
        },
        rules,
    )
    old = sf.algorithms.robust_ucb(space, seed=0)
    for i in range(8):
        query = old.ask()
        old.tell(query, 2.0 * (query.params["k"] == "y") - (query.params["a"] - 3.0) ** 2 + 0.1 * i)
    firsts = [
        sf.algorithms.robust_ucb(sf.Problem(space, prior=prior, guess={"b": 5.0}), seed=1)
        .ask()
        .params
        for prior in (None, old.belief())
    ]
    assert firsts[0] == firsts[1]
    assert firsts[0]["b"] == pytest.approx(5.0, abs=0.0 if not rules else 0.5)

"""The exact posterior on more arms than make a dictionary: features of the measured ones."""

from typing import Any

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import covariance
from support.optimizers import optimizer_of
from surefoot.features import exact
from surefoot.hyperparameters import GivenHyperparameters

RIDGE = 0.05
NUMBER = 90
POINTS = np.random.default_rng(0).random((NUMBER, 2))
GRAM = covariance.gram(covariance.matern(1.5, np.array([0.3, 0.3])), POINTS, POINTS)
MOMENT = sf.Moment(alpha=1.0, bound=4.0)


@pytest.fixture(autouse=True)
def few_arms_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "_LARGEST_TABLE", 10)


def optimizer(**parts: Any) -> sf.Optimizer:
    kernel = parts.pop("kernel", sf.kernels.matern(1.5, 0.3))
    space = parts.pop("space", sf.Arms(POINTS))
    given = GivenHyperparameters(kernel, RIDGE, parts.pop("standardise", False))
    return optimizer_of(space, given, **parts)


def value(arm: int, step: int) -> float:
    return float(np.sin(5.0 * POINTS[arm]).sum() + np.random.default_rng(step).normal())


def played(run: sf.Optimizer, rounds: int, first: int = 0) -> list[int]:
    arms = []
    for step in range(first, first + rounds):
        query = run.ask()
        arms.append(query.arm)
        run.tell(query, value(query.arm, step))
    return arms


@pytest.mark.long
def test_the_posterior_is_that_of_one_factorisation() -> None:
    run = optimizer()
    arms = played(run, 60)
    assert len(set(arms)) > 20
    K, cross = GRAM[np.ix_(arms, arms)], GRAM[:, arms]
    solve = np.linalg.solve(K + RIDGE * np.eye(60), cross.T)
    rewards = np.array([value(arm, step) for step, arm in enumerate(arms)])
    posterior, points = run.belief().posterior, run.space.points
    np.testing.assert_allclose(posterior.mean(points), rewards @ solve, atol=1e-9)
    variance = 1.0 - np.einsum("as,sa->a", cross, solve)
    np.testing.assert_allclose(posterior.variance(points), variance, atol=1e-9)
    np.testing.assert_allclose(posterior.variance(points[:5].clone()), variance[:5], atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"estimator": sf.Truncation(MOMENT)},
        {"estimator": sf.Huber(), "standardise": True},
        {"estimator": sf.StudentT()},
        {"width": sf.widths.dual_mixture(3.0, 1.0)},
    ],
    ids=["ls", "tgp", "huber", "student-t", "dual"],
)
def test_rounds_are_those_without_rank_one_updates(
    parts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of an estimate and draws that do not depend on the root of the kernel matrix."""
    grown = optimizer(**parts)
    with monkeypatch.context() as within:
        within.setattr(exact, "_MOST_ROWS", 0)
        plain = optimizer(**parts)
    assert played(grown, 20) == played(plain, 20)
    batch, other = grown.ask_batch(3), plain.ask_batch(3)
    assert [one.arm for one in batch] == [one.arm for one in other]


@pytest.mark.long
def test_a_saved_run_goes_on_as_it_would_have(tmp_path: Any) -> None:
    run = optimizer()
    played(run, 30)
    run.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run", kernel=sf.kernels.matern(1.5, 0.3))
    assert played(loaded, 10, 30) == played(run, 10, 30)


def test_a_belief_stays_as_features_are_added() -> None:
    run = optimizer()
    played(run, 7)
    belief, points = run.belief(), run.space.points
    before = belief.posterior.variance(points).clone(), belief.posterior.mean(points).clone()
    played(run, 20, 7)
    assert torch.equal(belief.posterior.variance(points), before[0])
    assert torch.equal(belief.posterior.mean(points), before[1])


def test_copies_of_an_arm_add_no_feature() -> None:
    copies = sf.Arms(np.repeat(POINTS[:3], 20, 0))
    run = optimizer(space=copies)
    info = run.tell_all([*range(60)], [float(np.sin(arm)) for arm in range(60)])
    assert info.dimension == 3
    assert bool(torch.isfinite(run.belief().posterior.variance(copies.points)).all())
    assert run.ask().arm is not None

"""What an optimizer reports of rewards: location, median or mean, and the residuals."""

from pathlib import Path

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import covariance
from support.variants import default_on
from surefoot import kernels
from surefoot.algorithms import robust_ucb
from surefoot.types import InvalidInput, NotReady

ESTIMANDS = ("location", "median", "mean")


def skewed(number: int, **arguments) -> sf.Optimizer:
    """A line with exponential noise of mean and deviation 1 below it."""
    generator = np.random.default_rng(3)
    x = generator.random((number, 1))
    optimizer = default_on(sf.Box([0.0], [1.0]), seed=0, **arguments)
    optimizer.tell_all(x, 2.0 * x[:, 0] - generator.exponential(1.0, number))
    return optimizer


def test_residuals_of_least_squares_are_those_of_the_hat_matrix() -> None:
    """Hoaglin and Welsch 1978: r / sqrt(1 - h), with the hat matrix K (K + D)^-1."""
    generator = np.random.default_rng(0)
    x, y = generator.random((30, 1)), generator.normal(size=30)
    x[20:] = x[:10]  # replicates
    sems = np.where(np.arange(30) % 3, 0.0, 0.5)
    optimizer = sf.Optimizer(
        sf.Box([0.0], [1.0]), sf.Method(kernels.squared_exponential(0.2), ridge=0.1)
    )
    optimizer.tell_all(x, y, sems=sems)
    gram = covariance.gram(covariance.squared_exponential(np.array([0.2])), x, x)
    hat = gram @ np.linalg.inv(gram + np.diag(0.1 + sems**2))
    expected = (y - hat @ y) / np.sqrt(1.0 - np.diag(hat))
    assert np.allclose(optimizer.belief().outcome.residuals.numpy(), expected, atol=1e-6)


def test_residuals_of_weighted_rewards_are_those_of_the_weighted_hat_matrix() -> None:
    optimizer = skewed(40)
    fitted, weights = optimizer.belief().outcome.fitted, optimizer.belief().weights.numpy()
    points, rewards = optimizer.history.sites, optimizer.history.rewards
    with torch.no_grad():
        gram = kernels.block(fitted.kernel, points, points).numpy()
    hat = gram @ np.linalg.inv(gram + np.diag(fitted.noise / weights))
    y = (fitted.warp(rewards).numpy() - fitted.center) / fitted.scale
    expected = fitted.scale * (y - hat @ y) / np.sqrt(1.0 - np.diag(hat))
    assert np.allclose(
        optimizer.belief().outcome.residuals.numpy(), expected, atol=0.02 * expected.std()
    )


@pytest.mark.long
def test_the_mean_is_the_mean_of_the_rewards_and_the_location_is_not() -> None:
    optimizer = skewed(400)
    x = torch.tensor([[0.5]], dtype=torch.float64)
    value, lower, upper = (float(end) for end in optimizer.belief().predict(x, estimand="mean"))
    assert lower <= 0.0 <= upper
    assert abs(value) < 0.2
    median = 1.0 - np.log(2.0)
    value, lower, upper = (float(end) for end in optimizer.belief().predict(x, estimand="median"))
    assert lower <= median <= upper
    assert abs(value - median) < 0.2
    assert (
        float(optimizer.belief().predict(x)[0]) > 0.1
    )  # the location, between mode (1) and mean (0)


def test_outliers_belong_to_the_mean_alone() -> None:
    generator = np.random.default_rng(5)
    optimizer = robust_ucb(sf.Arms(4), kernels.precomputed(np.eye(4)), ridge=0.1)
    arms = np.arange(400) % 4
    rewards = arms + 0.1 * generator.standard_normal(400) - 8.0 * (generator.random(400) < 0.1)
    optimizer.tell_all(arms, rewards)
    found = {name: optimizer.recommend(estimand=name) for name in ESTIMANDS}
    assert {one.arm for one in found.values()} == {3}
    assert abs(found["location"].value - 3.0) < 0.1
    assert abs(found["median"].value - 3.0) < 0.1
    assert found["mean"].lower <= 3.0 - 0.8 <= found["mean"].upper < 2.9


@pytest.mark.long
@pytest.mark.parametrize("estimand", ESTIMANDS)
def test_the_setting_is_reported_saved_and_does_not_change_the_run(
    estimand: sf.acquisition.Estimand, tmp_path: Path
) -> None:
    plain, optimizer = skewed(30), skewed(30, estimand=estimand)
    best, same = optimizer.recommend(), plain.recommend(estimand=estimand)
    assert best.estimand == estimand == same.estimand
    assert (best.value, best.lower, best.upper) == (same.value, same.lower, same.upper)
    assert torch.equal(best.point, plain.recommend().point)
    optimizer.save(tmp_path / "run.safetensors")
    loaded = sf.Optimizer.load(tmp_path / "run.safetensors")
    assert loaded.recommend().value == best.value
    assert loaded.recommend().estimand == estimand
    asked = plain.ask().point
    assert torch.equal(optimizer.ask().point, asked)
    assert torch.equal(loaded.ask().point, asked)


def test_the_risk_of_means_is_the_risk_and_the_mean_residual() -> None:
    space = sf.Joint(sf.Box([0.0], [1.0]), sf.FiniteEnvironment([0.0, 0.5, 1.0]))
    generator = np.random.default_rng(1)
    x, z = generator.random((60, 1)), generator.integers(3, size=60) / 2.0
    optimizer = robust_ucb(sf.Problem(space, risk=sf.VaR(0.4)), seed=0)
    optimizer.tell_all(x, x[:, 0] + z - generator.exponential(0.5, 60), z[:, None])
    designs = torch.tensor([[0.2], [0.7]], dtype=torch.float64)
    location, mean = (
        optimizer.belief().predict(designs),
        optimizer.belief().predict(designs, estimand="mean"),
    )
    shift = optimizer.belief().outcome.residuals.mean()
    assert float(shift) < 0.0
    assert torch.allclose(mean[0], location[0] + shift)
    assert bool((mean[2] - mean[1] > location[2] - location[1]).all())


@pytest.mark.long
@pytest.mark.parametrize("estimand", ["mode", "Mean", None, 1, sf.risks.Mean()])
def test_anything_else_is_refused_and_changes_nothing(estimand) -> None:
    expected = "`estimand` is .*, expected 'location', 'median' or 'mean'"
    with pytest.raises(InvalidInput, match=expected):
        robust_ucb(sf.Problem(sf.Box([0.0], [1.0]), estimand=estimand))
    if estimand is None:  # the optimizer's own
        return
    optimizer = skewed(12)
    before = optimizer.recommend()
    for call in (optimizer.recommend, lambda **of: optimizer.belief().predict([[0.5]], **of)):
        with pytest.raises(InvalidInput, match=expected):
            call(estimand=estimand)
    assert optimizer.recommend().value == before.value


def test_before_a_reward_there_is_no_belief() -> None:
    with pytest.raises(NotReady, match="there are no rewards yet"):
        robust_ucb(sf.Box([0.0], [1.0])).belief()


@pytest.mark.long
def test_residuals_follow_a_dictionary_that_is_redrawn_for_the_same_rewards() -> None:
    """In batches it is redrawn when a point is chosen; having looked makes no difference."""
    points = np.linspace(0.0, 1.0, 40)[:, None]
    found = []
    for looked in (False, True):
        optimizer = sf.algorithms.bbkb(
            sf.Arms(points), kernels.squared_exponential(0.1), norm_bound=1.0, noise=0.1, seed=0
        )
        generator = np.random.default_rng(0)
        for _ in range(40):
            queries = optimizer.ask_batch(4)
            for query in queries:
                reward = np.sin(6.0 * float(query.point)) + 0.1 * generator.standard_normal()
                optimizer.tell(query, reward)
                if looked:
                    _ = optimizer.belief().outcome.residuals
            optimizer.ask()
            found.append(optimizer.belief().outcome.residuals)
    half = len(found) // 2
    for plain, after_looks in zip(found[:half], found[half:], strict=True):
        assert torch.equal(plain, after_looks)

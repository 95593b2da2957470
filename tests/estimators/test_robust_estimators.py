"""Huber's and Student's t estimates against their definitions."""

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import covariance, robust_regression
from surefoot.estimators import Constants, Estimate, Estimator, Sample
from surefoot.features import NystromEmbedding
from surefoot.regression.observations import Observations
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.units import RewardUnits

RIDGE = 0.2
FORMULA = covariance.matern_five_halves(np.array([0.3]))
SITES = np.linspace(0.0, 1.0, 15)[:, None]


def spiky(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Which site each of 60 rewards was measured at, and the rewards, four of them spikes."""
    generator = np.random.default_rng(seed)
    site = np.concatenate([np.arange(15), generator.integers(15, size=45)])
    rewards = np.sin(6.0 * SITES[site, 0]) + 0.4 * generator.normal(size=60)
    rewards[[5, 21, 34, 50]] += [40.0, -30.0, 35.0, 60.0]
    return site, rewards


class Fit(NamedTuple):
    """An estimate, its mean (15,) at `SITES`, the weights (t,) of the rewards, and its sample."""

    estimate: Estimate
    mean: torch.Tensor
    weights: torch.Tensor | None
    state: Any
    sample: Sample


def fitted(
    estimator: Estimator,
    site: np.ndarray,
    rewards: np.ndarray,
    start: torch.Tensor | None = None,
    rank: int | None = None,
) -> Fit:
    """The fit in exact features, or those of `rank` of the sites.

    `start` are weights (t,) to begin from.
    """
    at = torch.from_numpy(SITES)
    embedding = NystromEmbedding.of(sf.kernels.matern(2.5, 0.3), at, rank)
    state = estimator.init(Constants(RIDGE) if start is None else Constants(RIDGE, weights=start))
    observations = Observations(1)
    for where, reward in zip(site, rewards.tolist(), strict=True):
        state = estimator.update(state, observations.append(at[where], reward), reward)
    features = embedding(observations.sites)
    factor = RidgeFactor.of(features, RIDGE, observations.counts)
    residual = embedding.residual(observations.sites, features)

    def leverage(chosen: np.ndarray) -> np.ndarray:
        return factor.leverage(features[torch.from_numpy(chosen)]).numpy()

    sample = Sample(factor, features, residual, 0, leverage, observations, RewardUnits())
    estimate, state = estimator.estimate(state, sample)
    weigh = getattr(estimator, "weights", None)
    weights = None if weigh is None else weigh(estimate, sample)
    return Fit(estimate, embedding(at) @ estimate.coefficients, weights, state, sample)


@pytest.mark.long
def test_huber_minimises_hubers_loss_at_its_scale() -> None:
    site, rewards = spiky()
    estimate, mean, *_ = fitted(sf.Huber(passes=2000, tolerance=1e-12), site, rewards)
    K = covariance.gram(FORMULA, SITES[site], SITES[site])
    expected = robust_regression.huber(K, rewards, RIDGE, estimate.threshold)
    np.testing.assert_allclose(mean[site], expected, atol=1e-5)


def test_huber_with_its_own_number_of_passes_is_near_the_minimum() -> None:
    site, rewards = spiky()
    ours = fitted(sf.Huber(), site, rewards)
    converged = fitted(sf.Huber(passes=2000, tolerance=1e-12), site, rewards)
    np.testing.assert_allclose(ours.mean, converged.mean, atol=0.01)


def test_huber_scale_is_the_corrected_median_of_its_residuals() -> None:
    site, rewards = spiky()
    estimate, mean, *_ = fitted(sf.Huber(k=2.0, passes=2000, tolerance=1e-12), site, rewards)
    residual = np.abs(rewards - mean.numpy()[site])
    K = covariance.gram(FORMULA, SITES[site], SITES[site])
    taken = np.trace(K @ np.linalg.inv(K + RIDGE * np.eye(60)))
    low, high = (1.4826 * np.sort(residual)[i] * np.sqrt(60 / (60 - taken)) for i in (29, 30))
    assert 2.0 * low * (1 - 1e-9) <= estimate.threshold <= 2.0 * high * (1 + 1e-9)


def test_huber_weights_are_threshold_over_residual() -> None:
    site, rewards = spiky()
    estimate, mean, weights, *_ = fitted(sf.Huber(passes=2000, tolerance=1e-12), site, rewards)
    assert weights is not None
    residual = np.abs(rewards - mean.numpy()[site])
    expected = np.minimum(1.0, estimate.threshold / residual)
    np.testing.assert_allclose(weights, expected, rtol=1e-6)
    assert set(np.flatnonzero(weights < 0.5)) >= {5, 21, 34, 50}


@pytest.mark.long
@pytest.mark.parametrize("dof", [4.0, 2.0, 20.0])
def test_student_t_is_the_variational_fixed_point(dof: float) -> None:
    site, rewards = spiky()
    start = np.full(60, 0.5)
    estimator = sf.StudentT(dof=dof, passes=5000, tolerance=1e-13)
    estimate, mean, _, state, sample = fitted(estimator, site, rewards, torch.from_numpy(start))
    K = covariance.gram(FORMULA, SITES[site], SITES[site])
    f, variance, weights = robust_regression.student_t(K, rewards, RIDGE, dof, start)
    np.testing.assert_allclose(mean[site], f, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(state.weights, weights, rtol=1e-6)
    ours = RIDGE * sample.factor_of(estimate.counts).leverage(sample.features)
    np.testing.assert_allclose(ours[site], variance, rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("dof", [4.0, 1e9])
def test_what_few_features_leave_is_independent_at_each_site(dof: float) -> None:
    # The fully independent training conditional: the process with covariance Q + diag(K - Q).
    site, rewards = spiky()
    start = np.full(60, 0.5)
    estimator = sf.StudentT(dof=dof, passes=5000, tolerance=1e-13)
    fit = fitted(estimator, site, rewards, torch.from_numpy(start), rank=5)
    estimate, sample = fit.estimate, fit.sample
    features, residual = sample.features.numpy(), sample.residual.numpy()
    assert features.shape[1] == 5
    assert residual.max() > 0.1 * RIDGE
    order = sample.site.numpy()
    K = features @ features.T + np.diag(residual)
    expected = robust_regression.student_t(K[np.ix_(order, order)], rewards, RIDGE, dof, start)[2]
    np.testing.assert_allclose(fit.state.weights, expected, rtol=1e-6)
    np.testing.assert_allclose(fit.weights, np.minimum(expected, 1.0), rtol=1e-6)

    at_sites = features[order]
    covariance_of_rewards = K[np.ix_(order, order)] + np.diag(RIDGE / expected)
    solved = np.linalg.solve(covariance_of_rewards, rewards)
    np.testing.assert_allclose(estimate.coefficients, at_sites.T @ solved, rtol=1e-6, atol=1e-9)
    between = np.linalg.solve(covariance_of_rewards, at_sites)
    explained = np.eye(5) - at_sites.T @ between
    leverage = sample.factor_of(estimate.counts).leverage(sample.features)
    np.testing.assert_allclose(
        RIDGE * leverage, ((features @ explained) * features).sum(-1), rtol=1e-6
    )


@pytest.mark.parametrize(
    "estimator", [sf.LeastSquares(), sf.Huber(), sf.StudentT()], ids=lambda e: type(e).__name__
)
def test_the_order_of_rewards_does_not_matter(estimator: Estimator) -> None:
    site, rewards = spiky()
    order = np.random.default_rng(1).permutation(60)
    first = fitted(estimator, site, rewards)
    second = fitted(estimator, site[order], rewards[order])
    np.testing.assert_allclose(first.mean, second.mean, rtol=1e-9, atol=1e-12)
    if first.weights is not None and second.weights is not None:
        np.testing.assert_allclose(first.weights[order], second.weights, rtol=1e-9)


@pytest.mark.parametrize(
    "estimator", [sf.LeastSquares(), sf.Huber(), sf.StudentT()], ids=lambda e: type(e).__name__
)
def test_weights_are_one_for_each_reward_and_truncated_are_counted(estimator: Estimator) -> None:
    estimate, _, weights, *_ = fitted(estimator, *spiky())
    if weights is None:
        assert estimate.truncated == 0
        return
    assert weights.shape == (60,)
    assert bool(((weights >= 0) & (weights <= 1)).all())
    assert estimate.truncated == int((weights < 0.5).sum())
    assert estimate.last_truncated == bool(weights[-1] < 0.5)


def test_hubers_estimate_does_not_depend_on_how_far_out_an_outlier_is() -> None:
    draw = np.random.default_rng(4)
    arms = draw.integers(0, 8, 40)
    rewards = np.sin(6.0 * arms / 7.0) + 0.3 * draw.normal(size=40)
    out = draw.permutation(40)[:3]
    means = []
    for far in (1e4, 1e30, 1e90):
        rewards[out] = far
        optimizer = sf.Optimizer(
            sf.Arms(np.linspace(0.0, 1.0, 8)[:, None]),
            sf.Method(sf.kernels.squared_exponential(0.3), estimator=sf.Huber(), ridge=0.1),
        )
        optimizer.tell_all(arms.tolist(), rewards.tolist())
        means.append(optimizer.belief().posterior.mean(optimizer.space.points))
    torch.testing.assert_close(means[1], means[0], atol=1e-3, rtol=0.0)
    torch.testing.assert_close(means[2], means[0], atol=1e-3, rtol=0.0)

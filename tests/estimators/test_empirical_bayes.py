"""Empirical-Bayes prior mean and output scale."""

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.estimators import Constants, Estimator, Sample
from surefoot.estimators.digest import Digest, WeightedValues
from surefoot.estimators.huber import empirical_bayes_prior
from surefoot.features import NystromEmbedding
from surefoot.regression.observations import Observations
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.units import RewardUnits


def values_of(points: torch.Tensor, rewards: torch.Tensor, ridge: float) -> WeightedValues:
    """One reward at each of the points, in exact features."""
    embedding = NystromEmbedding.of(sf.kernels.squared_exponential(0.02), points)
    features = embedding(points)
    factor = RidgeFactor.of(features, ridge)
    observations, digest = Observations(1), Digest()
    for point, reward in zip(points, rewards.tolist(), strict=True):
        digest.append(observations.append(point, reward), reward)

    def leverage(chosen: np.ndarray) -> np.ndarray:
        return factor.leverage(features[torch.from_numpy(chosen)]).numpy()

    residual = embedding.residual(points, features)
    sample = Sample(factor, features, residual, 0, leverage, observations, RewardUnits())
    return digest.weighted(sample)


def estimated(estimator: Estimator, sample: Sample) -> torch.Tensor:
    """The coefficients (m,) of an estimator."""
    state = estimator.init(Constants(sample.factor.ridge))
    for site, reward in zip(sample.site.tolist(), sample.rewards.tolist(), strict=True):
        state = estimator.update(state, site, reward)
    return estimator.estimate(state, sample)[0].coefficients


@pytest.mark.parametrize("ridge", [0.05, 1.0])
@pytest.mark.parametrize("scale", [0.3, 10.0])
def test_mean_and_scale_of_a_draw_from_the_prior_are_found(ridge: float, scale: float) -> None:
    generator = np.random.default_rng(0)
    points = torch.from_numpy(generator.uniform(size=(400, 1)))
    gram = sf.kernels.block(sf.kernels.squared_exponential(0.02), points, points).detach().numpy()
    f = np.linalg.cholesky(gram + 1e-9 * np.eye(400)) @ generator.normal(size=400)
    y = torch.from_numpy(scale * (2.0 + f + ridge**0.5 * generator.normal(size=400)))
    y[::20] += 1000.0 * scale  # which does not matter to what is robust
    values = values_of(points, y, ridge)
    prior = empirical_bayes_prior(values, estimated(sf.Huber(), values.sample))
    assert prior.scale == pytest.approx(scale, rel=0.25)
    assert prior.mean == pytest.approx(2.0 * scale, abs=0.8 * scale)


def test_it_is_generalised_least_squares_where_nothing_is_clipped() -> None:
    """Against the formulas with all of the Gram matrix."""
    generator = np.random.default_rng(1)
    points = torch.from_numpy(generator.uniform(size=(31, 1)))
    y = torch.where(points[:, 0] > 0.5, 1.0, -1.0).double() * 0.5 + 3.0
    ridge = 0.5
    values = values_of(points, y, ridge)
    sample = values.sample
    theta = estimated(sf.LeastSquares(), sample)
    gram = (sample.features @ sample.features.T).numpy()
    inverse = np.linalg.inv(gram + ridge * np.eye(31))
    residual = y.numpy() - gram @ inverse @ y.numpy()
    leverage = np.diag(gram @ inverse)
    noise = 1.4826 * np.median(abs(residual)) * (31 / max(31 - leverage.sum(), 7.75)) ** 0.5
    clipped = np.clip(residual, -1.345 * noise, 1.345 * noise)
    one = np.ones(31)
    mean = clipped.sum() / (ridge * one @ inverse @ one + ridge)
    prior = empirical_bayes_prior(values, theta)
    assert prior.mean == pytest.approx(mean, rel=1e-6)
    fitted = gram @ inverse @ (y.numpy() - mean)
    function = prior.scale * (sample.features @ prior.coefficients)
    np.testing.assert_allclose(function, fitted, atol=1e-8)
    square = (y.numpy() - mean) @ inverse @ gram @ inverse @ (y.numpy() - mean)
    power = (31 - leverage.sum()) * noise**2 / ridge + square
    assert prior.scale == pytest.approx(((4 + power) / 35) ** 0.5, rel=1e-6)


def test_rewards_that_are_all_the_same() -> None:
    points = torch.linspace(0.0, 1.0, 50, dtype=torch.float64).unsqueeze(-1)
    values = values_of(points, torch.zeros(50, dtype=torch.float64), 0.1)
    nothing = torch.zeros(values.sample.features.shape[1], dtype=torch.float64)
    prior = empirical_bayes_prior(values, nothing)
    assert prior.mean == 0.0
    assert 0.0 < prior.scale < 1.0

"""Mean and width of the prior that goes with a kernel and a ridge."""

import numpy as np
import pytest
import torch
from surefoot.estimators.empirical_bayes import empirical_bayes_prior

import surefoot as sf
from surefoot.estimators import Sample
from surefoot.features import Exact
from surefoot.regression.ridge import RidgeFactor


def sample_of(points: torch.Tensor, rewards: torch.Tensor) -> Sample:
    kernel = sf.kernels.squared_exponential(0.02)
    embedding = Exact().embed(kernel, points)
    phi = embedding(points)
    one = torch.ones(len(points), dtype=torch.float64)
    site = torch.arange(len(points))
    return Sample(phi, embedding.residual(points, phi), one, rewards, site, rewards)


@pytest.mark.parametrize("ridge", [0.05, 1.0])
@pytest.mark.parametrize("width", [0.3, 10.0])
def test_mean_and_width_of_a_draw_from_the_prior_are_found(ridge: float, width: float) -> None:
    generator = np.random.default_rng(0)
    points = torch.from_numpy(generator.uniform(size=(400, 1)))
    gram = sf.kernels.block(sf.kernels.squared_exponential(0.02), points, points).detach().numpy()
    f = np.linalg.cholesky(gram + 1e-9 * np.eye(400)) @ generator.normal(size=400)
    y = torch.from_numpy(width * (2.0 + f + ridge**0.5 * generator.normal(size=400)))
    y[::20] += 1000.0 * width  # which does not matter to what is robust
    sample = sample_of(points, y)
    factor = RidgeFactor.of(sample.features, ridge, sample.counts)
    prior = likeliest_prior(factor, sample, sf.Huber()(factor, sample).coefficients)
    assert prior.width == pytest.approx(width, rel=0.25)
    assert prior.mean == pytest.approx(2.0 * width, abs=0.8 * width)


def test_it_is_generalised_least_squares_where_nothing_is_clipped() -> None:
    """Against the formulas with the whole Gram matrix."""
    generator = np.random.default_rng(1)
    points = torch.from_numpy(generator.uniform(size=(31, 1)))
    y = torch.where(points[:, 0] > 0.5, 1.0, -1.0).double() * 0.5 + 3.0
    sample = sample_of(points, y)
    ridge = 0.5
    factor = RidgeFactor.of(sample.features, ridge, sample.counts)
    theta = sf.LeastSquares()(factor, sample).coefficients
    gram = (sample.features @ sample.features.T).numpy()
    inverse = np.linalg.inv(gram + ridge * np.eye(31))
    residual = y.numpy() - gram @ inverse @ y.numpy()
    leverage = np.diag(gram @ inverse)
    noise = 1.4826 * np.median(abs(residual)) * (31 / max(31 - leverage.sum(), 7.75)) ** 0.5
    clipped = np.clip(residual, -1.345 * noise, 1.345 * noise)
    one = np.ones(31)
    mean = clipped.sum() / (ridge * one @ inverse @ one + ridge)
    prior = likeliest_prior(factor, sample, theta)
    assert prior.mean == pytest.approx(mean, rel=1e-6)
    fitted = gram @ inverse @ (y.numpy() - mean)
    np.testing.assert_allclose(sample.features @ prior.coefficients, fitted, atol=1e-8)
    square = (y.numpy() - mean) @ inverse @ gram @ inverse @ (y.numpy() - mean)
    power = (31 - leverage.sum()) * noise**2 / ridge + square
    assert prior.width == pytest.approx(((4 + power) / 35) ** 0.5, rel=1e-6)


def test_rewards_that_are_all_the_same() -> None:
    points = torch.linspace(0.0, 1.0, 50, dtype=torch.float64).unsqueeze(-1)
    sample = sample_of(points, torch.zeros(50, dtype=torch.float64))
    factor = RidgeFactor.of(sample.features, 0.1, sample.counts)
    nothing = torch.zeros(sample.features.shape[1], dtype=torch.float64)
    prior = likeliest_prior(factor, sample, nothing)
    assert prior.mean == 0.0
    assert 0.0 < prior.width < 1.0

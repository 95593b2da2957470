"""How wide the prior is that goes with a kernel and a ridge: against draws from wide ones."""

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.estimators import Sample
from surefoot.features import Exact
from surefoot.reward_scale import reward_scale
from surefoot.ridge import RidgeFactor


def sample_of(points: torch.Tensor, rewards: torch.Tensor) -> Sample:
    kernel = sf.kernels.squared_exponential(0.2)
    embedding = Exact().embed(kernel, points)
    phi = embedding(points)
    one = torch.ones(len(points), dtype=torch.float64)
    site = torch.arange(len(points))
    return Sample(phi, embedding.residual(points, phi), one, rewards, site, rewards)


@pytest.mark.parametrize("ridge", [0.05, 1.0])
@pytest.mark.parametrize("scale", [2.0, 10.0])
def test_the_scale_of_a_draw_from_the_prior_is_found(ridge: float, scale: float) -> None:
    generator = np.random.default_rng(0)
    points = torch.from_numpy(generator.uniform(size=(400, 1)))
    gram = sf.kernels.block(sf.kernels.squared_exponential(0.2), points, points).detach().numpy()
    f = np.linalg.cholesky(gram + 1e-9 * np.eye(400)) @ generator.normal(size=400)
    y = torch.from_numpy(scale * (f + ridge**0.5 * generator.normal(size=400)))
    y[::20] += 1000.0 * scale  # which does not matter to the residuals' median
    sample = sample_of(points, y)
    factor = RidgeFactor.of(sample.features, ridge, sample.counts)
    theta = sf.Huber()(factor, sample).coefficients
    assert reward_scale(factor, sample, theta) == pytest.approx(scale, rel=0.2)


def test_it_is_never_less_than_that_of_the_rewards() -> None:
    points = torch.linspace(0.0, 1.0, 50, dtype=torch.float64).unsqueeze(-1)
    sample = sample_of(points, torch.zeros(50, dtype=torch.float64))
    factor = RidgeFactor.of(sample.features, 0.1, sample.counts)
    nothing = torch.zeros(sample.features.shape[1], dtype=torch.float64)
    assert reward_scale(factor, sample, nothing) == 1.0

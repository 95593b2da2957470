"""Dictionaries sampled on boxes."""

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import covariance, gaussian_process
from support.batched_runs import PLANE, SETTINGS, play, value
from support.variants import variant
from surefoot.algorithms import bkb


class TestBoxes:
    @pytest.mark.long
    @pytest.mark.parametrize("resample", ["every-round", "adaptive"])
    def test_the_posterior_is_that_of_the_dictionary(self, resample: str) -> None:
        box = sf.Box([0.0, 0.0], [1.0, 1.0])
        features = sf.Nystrom(sf.LeverageSampling(1.0, resample=resample))
        kernel = sf.kernels.squared_exponential(0.3)
        optimizer = sf.Optimizer(box, sf.Method(kernel, features=features, ridge=0.01))
        pulled = torch.cat([PLANE, PLANE[:30]])
        rewards = [value(point) for point in pulled]
        for point, y in zip(pulled, rewards, strict=True):
            optimizer.tell(point, y)
        dictionary = optimizer.belief().posterior.embedding.dictionary
        assert 5 < len(dictionary) < 100
        at = torch.rand(50, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(6))
        mean, variance = gaussian_process.on_dictionary(
            covariance.squared_exponential(np.array([0.3, 0.3])),
            dictionary.numpy(),
            pulled.numpy(),
            np.array(rewards),
            0.01,
            at.numpy(),
        )
        np.testing.assert_allclose(optimizer.belief().posterior.mean(at), mean, atol=1e-5)
        np.testing.assert_allclose(optimizer.belief().posterior.variance(at), variance, atol=1e-5)

    @pytest.mark.long
    def test_bkb_finds_the_top_of_a_box(self) -> None:
        box, width = sf.Box([0.0, 0.0], [1.0, 1.0]), sf.widths.srinivas(scale=0.5)
        optimizer = variant(bkb(box, sf.kernels.squared_exponential(0.3), **SETTINGS), width=width)
        play(optimizer, 40)
        assert value(optimizer.recommend().point) > 0.95


def test_a_size_is_not_a_rule():
    with pytest.raises(sf.InvalidInput, match=r"pass `PivotedCholesky\(50\)`"):
        sf.Nystrom(50)

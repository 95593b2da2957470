"""Weights of rewards that a fit did not see: beyond the 500 of an ascent, or later than it."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from surefoot.hyperparameters import HyperparameterFit, TrainingData
from surefoot.hyperparameters.evidence import Evidence, Hyperparameters, expected_squares
from surefoot.kernels.families import FAMILIES
from surefoot.regression.noise import NO_ERRORS, Noise

FIT = HyperparameterFit(passes=1, steps=8, effects=())


def data_with_outliers(number: int, workers: int = 0) -> tuple[TrainingData, Tensor]:
    """Rewards of a smooth function, one in twenty an outlier, and which are outliers."""
    generator = torch.Generator().manual_seed(3)
    points = torch.rand(number, 1, dtype=torch.float64, generator=generator)
    noise = 0.1 * torch.randn(number, dtype=torch.float64, generator=generator)
    outlying = torch.rand(number, generator=generator) < 0.05
    worker = torch.arange(number) % max(workers, 1)
    rewards = torch.sin(6.0 * points[:, 0]) + noise + 8.0 * outlying
    rewards = rewards + 3.0 * worker if workers else rewards
    one = torch.ones(1, dtype=torch.float64)
    index = worker if workers else torch.full((number,), -1)
    return TrainingData(points, rewards, 0.0 * one, one, workers=index), outlying


def together(data: TrainingData, noise: float, dof: float, weights: Tensor, kernel) -> Tensor:
    """Weights of all rewards at which the E-step over all of them stays."""
    scales = kernel.base_kernel.lengthscale.detach().reshape(-1)
    model = Hyperparameters.of(scales, data.group, float(kernel.outputscale), noise)
    evidence = Evidence(
        data.unit, data.rewards, data.group, FAMILIES["matern-5/2"], None, NO_ERRORS
    )
    signal = evidence.covariance_of_rewards(model)
    for _ in range(40):
        own = Noise(noise, weights, dof=dof)
        weights = own.updated(expected_squares(signal, own.variances, data.rewards)[1])
    return weights


@pytest.mark.long
def test_rewards_beyond_those_of_an_ascent_have_weights_of_their_own() -> None:
    data, outlying = data_with_outliers(620)
    fitted = FIT.fit(data)
    units = fitted.units
    standardised = TrainingData(data.points, units.transform(data.rewards), data.lower, data.span)
    expected = together(standardised, fitted.noise, fitted.dof, fitted.weights, fitted.kernel)
    torch.testing.assert_close(fitted.weights, expected, atol=0.05, rtol=0.0)
    assert float(fitted.weights[outlying].max()) < 0.1


@pytest.mark.long
def test_weights_allow_for_the_effects_of_conditions() -> None:
    data, outlying = data_with_outliers(540, workers=2)
    fitted = HyperparameterFit(passes=1, steps=8, effects=("worker",)).fit(data)
    assert not fitted.effects.is_none
    assert float(fitted.weights[outlying].max()) < 0.1
    assert float(fitted.weights[~outlying].median()) > 0.8


@pytest.mark.long
def test_more_rewards_than_are_weighed_together_have_weights_beside_those_fitted() -> None:
    data, outlying = data_with_outliers(1100)
    weights = FIT.fit(data).weights
    assert float(weights[outlying].max()) < 0.1
    assert float(weights[~outlying].median()) > 0.8


def test_an_outlier_after_the_fit_loses_its_weight_in_the_integration() -> None:
    data, _ = data_with_outliers(60)
    fitted = FIT.fit(data)
    spike = torch.tensor([40.0], dtype=torch.float64)
    points = torch.cat([data.points, data.points[:1] + 0.01])
    later = TrainingData(points, torch.cat([data.rewards, spike]), data.lower, data.span)
    validation = FIT.uncertainty(fitted, later).cross_validation()
    assert math.isclose(float(validation.rewards[-1]), float(validation.rewards.max()))
    assert float(validation.weights[-1]) < 0.1

"""Laplace's approximation around several maxima of the bound, and the mixture over them."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from surefoot.hyperparameters import GAUSSIAN, HyperparameterFit, TrainingData, process_mixture
from surefoot.hyperparameters.evidence import LENGTHSCALE_PRIORS, Evidence, Hyperparameters
from surefoot.hyperparameters.laplace import PosteriorMode
from surefoot.hyperparameters.mixture import Mixture
from surefoot.kernels.families import FAMILIES
from surefoot.regression.uncertainty import Certain

NUMBER, GROUP = 12, torch.tensor([0, 1])
GENERATOR = torch.Generator().manual_seed(0)
POINTS = torch.rand(NUMBER, 2, generator=GENERATOR, dtype=torch.float64)
REWARDS = torch.sin(5.0 * POINTS[:, 0]) + POINTS[:, 1]
WEIGHTS = 0.2 + torch.rand(NUMBER, generator=GENERATOR, dtype=torch.float64)
EVIDENCE = Evidence(POINTS, REWARDS, GROUP, FAMILIES["matern-5/2"], LENGTHSCALE_PRIORS["long"])
MODEL = Hyperparameters(torch.tensor([-0.8, 0.4, 0.1, -3.0], dtype=torch.float64))
OTHER = Hyperparameters(torch.tensor([1.0, 1.0, 0.5, -1.0], dtype=torch.float64))
MODE = PosteriorMode(EVIDENCE, MODEL, WEIGHTS, dof=4.0)
NEW = torch.tensor([[0.2, 0.4], [0.9, 0.1]], dtype=torch.float64)


def log_posterior(logs: torch.Tensor) -> torch.Tensor:
    """Log posterior density of the logarithms, as a literal transcription."""
    scales, variance = logs[:2].exp(), logs[2].exp()
    noise = 1e-4 + 1e-6 * variance + logs[3].exp()
    off_diagonal = 1.0 - torch.eye(NUMBER, dtype=torch.float64)
    differences = (POINTS[:, None] - POINTS) / scales
    distance = (5.0 * differences.square().sum(-1) + 1e-30).sqrt() * off_diagonal
    signal = variance * (1.0 + distance + distance**2 / 3.0) * torch.exp(-distance)
    total = signal + torch.diag(noise / WEIGHTS)
    inverse = torch.linalg.inv(total)
    residual = REWARDS - (inverse @ REWARDS).sum() / inverse.sum()
    likelihood = -0.5 * residual @ inverse @ residual - 0.5 * torch.logdet(total)
    off = logs[:2] - math.sqrt(2.0) - 0.5 * math.log(2.0)
    prior = -(off.square() / 6.0 + logs[:2]).sum()
    return likelihood + prior - logs[2] ** 2 / 18.0 - (noise.log() + 3.0) ** 2 / 18.0


def test_the_volume_is_that_of_the_hessian_by_automatic_differentiation():
    hessian = torch.autograd.functional.hessian(log_posterior, MODEL.logs)
    eigenvalues = torch.linalg.eigvalsh(-hessian).clamp_min(0.1)
    mode = replace(MODE, bound=7.0)
    expected = 7.0 - 0.5 * float(eigenvalues.log().sum())
    assert mode.log_evidence == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("dimension", "rewards", "expected"), [(2, 12, 8.0), (6, 8, 3.0), (60, 20, 17.0)]
)
def test_a_prediction_has_as_many_degrees_of_freedom_as_rewards_are_left(
    dimension: int, rewards: int, expected: float
) -> None:
    """Many lengthscales vary together, as one hyperparameter."""
    model = Hyperparameters(torch.zeros(dimension + 2, dtype=torch.float64))
    mode = replace(MODE, model=model, weights=torch.ones(rewards, dtype=torch.float64))
    assert Mixture([mode]).degrees_of_freedom == expected
    assert Mixture([mode]).smooth.degrees_of_freedom == expected


def test_precisions_have_their_gamma_posterior():
    """Gamma((nu + 1) / 2), with the weights as means."""
    number, dof = 4000, 3.0
    weights = torch.linspace(0.01, 1.2, number, dtype=torch.float64)
    shape = 0.5 * (dof + 1.0)
    mode = replace(MODE, weights=weights, dof=dof)
    # Only the draws of the precisions are of interest, not the evidence of so many rewards.
    mode.__dict__["_spectrum"] = (torch.ones(4).double(), torch.eye(4).double())
    factors = torch.stack([sample.weights for sample in mode.samples]) / weights
    assert float(factors.mean()) == pytest.approx(1.0, abs=0.02)
    assert float(factors.var()) == pytest.approx(1.0 / shape, rel=0.05)


def test_precisions_of_gaussian_noise_are_known():
    mode = replace(MODE, dof=GAUSSIAN)
    for sample in mode.samples:
        torch.testing.assert_close(sample.weights, WEIGHTS, rtol=1e-3, atol=0.0)


def test_modes_count_by_their_evidence():
    """The moments are those of the mixture over samples from both modes."""
    other = replace(MODE, model=OTHER)
    other = replace(other, bound=MODE.log_evidence - other.log_evidence + math.log(3.0))
    both = Mixture([MODE, other])
    np.testing.assert_allclose(both.probabilities.numpy(), [0.25, 0.75], rtol=1e-9)
    samples = [(MODE, one) for one in MODE.samples[:4]]
    samples += [(other, one) for one in other.samples[4:]]
    given = [mode.given(*sample).at(NEW) for mode, sample in samples]
    means = torch.stack([one.mean for one in given])
    second = torch.stack([one.mean.square() + one.variance for one in given])
    mean, deviation = both.process.mean_and_deviation(NEW)
    torch.testing.assert_close(mean, means.mean(0))
    mixture = (second.mean(0) - means.mean(0).square()) * (NUMBER + 1.0) / (NUMBER - 1.0)
    torch.testing.assert_close(deviation.square(), mixture)


def test_an_optimum_without_rivals_is_the_only_mode():
    x = torch.linspace(0.0, 1.0, 20, dtype=torch.float64)
    data = TrainingData(x[:, None], torch.sin(6.0 * x), torch.zeros(1), torch.ones(1))
    fitted = HyperparameterFit().fit(data)
    assert not fitted.rivals
    assert HyperparameterFit().uncertainty(fitted, data).probabilities.tolist() == [1.0]


@pytest.mark.long
def test_rivals_are_less_probable_than_the_optimum():
    """Heavy-tailed noise, under which the fit is either rough or has many outliers."""
    generator = np.random.default_rng(3)
    x = np.linspace(0.0, 1.0, 16)
    y = np.sin(6.0 * x) + 0.1 * generator.standard_normal(16) + 0.8 * generator.standard_t(1.5, 16)
    points, rewards = torch.from_numpy(x)[:, None], torch.from_numpy(y)
    data = TrainingData(points, rewards, torch.zeros(1), torch.ones(1))
    fitted = HyperparameterFit().fit(data)
    assert fitted.rivals
    probabilities = HyperparameterFit().uncertainty(fitted, data).probabilities
    assert len(probabilities) > 1
    assert int(probabilities.argmax()) == 0


@pytest.mark.long
@pytest.mark.parametrize(("number", "kernels"), [(500, 2), (501, 1), (1001, 0)])
def test_what_is_integrated_over_is_bounded(number, kernels):
    """Beyond 500 rewards the kernel is taken as known, beyond 1,000 the hyperparameters too."""
    x = torch.linspace(0.0, 1.0, number, dtype=torch.float64)[:, None]
    rewards = torch.sin(6.0 * x[:, 0]) + 0.1 * torch.cos(1e4 * x[:, 0])
    data = TrainingData(x, rewards, torch.zeros(1), torch.ones(1))
    few = TrainingData(x[:40], rewards[:40], torch.zeros(1), torch.ones(1))
    fit = HyperparameterFit(other_kernels=("matern-3/2",))
    uncertainty = fit.uncertainty(fit.fit(few), data)
    if not kernels:
        assert isinstance(uncertainty, Certain)
    else:
        assert len({mode.evidence.family.name for mode in uncertainty.modes}) == kernels
        assert float(uncertainty.process.mean_and_deviation(x[:1])[1]) > 0.0


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_mean_and_deviation_are_differentiable_in_the_points(family):
    """A policy may maximise bounds that integrate over the hyperparameters."""
    mixture = Mixture([replace(MODE, evidence=replace(EVIDENCE, family=family))])
    at = NEW.clone().requires_grad_()
    assert torch.autograd.gradcheck(mixture.process.mean_and_deviation, at)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_means_at_the_rewards_are_those_at_equal_points(family, share):
    """There they follow from the rewards and the noise, without a covariance."""
    mode = replace(MODE, evidence=replace(EVIDENCE, family=family))
    shares = torch.full((len(mode.samples),), share, dtype=torch.float64)
    extra = Mixture([mode], shares).process
    assert mode.evidence.is_told(POINTS.clone())
    assert not mode.evidence.is_told(POINTS.flip(0))
    torch.testing.assert_close(
        extra.mean(POINTS), extra.mean(POINTS.flip(0)).flip(0), rtol=0.0, atol=1e-11
    )
    both = extra.mean(POINTS), extra.mean_and_deviation(POINTS)[0]
    torch.testing.assert_close(*both, rtol=0.0, atol=1e-11)


@pytest.mark.daily(1)
@pytest.mark.parametrize(
    ("name", "low", "high"), [("matern-1/2", 0.95, 1.0), ("matern-5/2", 0.0, 1e-6)]
)
def test_functions_are_as_smooth_as_the_rewards_show(name, low, high):
    """Kernel, and probability of the exponential one, for functions drawn with and without it."""
    number = 80
    points = torch.linspace(0.0, 1.0, number, dtype=torch.float64)[:, None]
    drawn = Evidence(points, points[:, 0], torch.tensor([0]), FAMILIES[name], None)
    model = Hyperparameters(torch.tensor([-1.5, 0.0, -9.0], dtype=torch.float64))
    covariance = drawn.covariance_of_rewards(model) + 1e-3 * torch.eye(number, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    normals = torch.randn(number, dtype=torch.float64, generator=generator)
    rewards = torch.linalg.cholesky(covariance) @ normals
    data = TrainingData(points, rewards, torch.zeros(1), torch.ones(1))
    fit = HyperparameterFit(other_kernels=("matern-1/2", "matern-3/2"))
    fitted = fit.fit(data)
    assert FAMILIES[name].is_of(fitted.kernel.base_kernel)
    found = fit.uncertainty(fitted, data)
    every = ("matern-5/2", "matern-1/2", "matern-3/2")
    others = [other for other in every if other != name]
    smoothness = [mode.evidence.family.name for mode in found.modes]
    assert smoothness == [name, *others]
    assert low <= float(found.probabilities[smoothness.index("matern-1/2")]) <= high


@pytest.mark.long
def test_a_cusp_is_nearer_to_the_interval_of_a_mixture_with_rougher_kernels():
    """A smooth kernel alone takes the tip of -sqrt|x| for noise about a lower summit."""
    generator = torch.Generator().manual_seed(2)
    points = torch.rand(60, 1, dtype=torch.float64, generator=generator)
    points[20:] = 0.5 + 0.1 * (points[20:] - 0.5)  # where a search has converged
    noise = 0.05 * torch.randn(60, dtype=torch.float64, generator=generator)
    rewards = noise - (points[:, 0] - 0.5).abs().sqrt()
    data = TrainingData(points, rewards, torch.zeros(1), torch.ones(1))
    top, deviations = torch.full((1, 1), 0.5, dtype=torch.float64), []
    for fit in (HyperparameterFit(), HyperparameterFit(other_kernels=("matern-1/2", "matern-3/2"))):
        fitted = fit.fit(data)
        mean, deviation = fit.uncertainty(fitted, data).process.mean_and_deviation(top)
        deviations.append(float((fitted.warp(top.new_zeros(1)) - mean) / deviation))
    assert 0.0 < deviations[1] < 0.7 * deviations[0]


def test_points_in_parts_have_the_moments_of_all_at_once(monkeypatch):
    """Memory is bounded by them."""
    mixture, points = (
        Mixture([MODE]).process,
        torch.rand(7, 2, generator=GENERATOR, dtype=torch.float64),
    )
    pairs = points[:6].reshape(3, 1, 2, 2)

    whole = mixture.mean(points), *mixture.mean_and_deviation(points)
    every, none = mixture.components(pairs), mixture.components(pairs[:0])
    assert [tuple(one.shape) for one in every] == [(3, 1, 16, 2), (3, 1, 16, 2, 2)]
    assert [tuple(one.shape) for one in none] == [(0, 1, 16, 2), (0, 1, 16, 2, 2)]
    monkeypatch.setattr(process_mixture, "_LEAST_PART", 1)
    monkeypatch.setattr(process_mixture, "_PART", 2 * 16 * NUMBER)
    assert [len(part) for part in mixture._parts(points)] == [2, 2, 2, 1]
    parts = mixture.mean(points), *mixture.mean_and_deviation(points)
    torch.testing.assert_close(parts, whole, rtol=1e-12, atol=1e-12)
    # Variances of what is nearly known are differences of numbers of 1.
    torch.testing.assert_close(mixture.components(pairs), every, rtol=1e-12, atol=1e-11)

"""The evidence and its gradient, against GPyTorch's kernels and automatic differentiation."""

import math

import numpy as np
import pytest
import torch
from gpytorch.kernels import MaternKernel, RBFKernel
from scipy.optimize import brentq
from torch.distributions import Gamma, LogNormal, Normal, StudentT

from surefoot.hyperparameters import exponents
from surefoot.hyperparameters.evidence import (
    LENGTHSCALE_PRIORS,
    PRIORS_IN_LOGS,
    Evidence,
    Hyperparameters,
)
from surefoot.kernels.families import FAMILIES

NUMBER, GROUP = 20, torch.tensor([0, 1, 1])
GENERATOR = torch.Generator().manual_seed(0)
POINTS = torch.rand(NUMBER, 3, generator=GENERATOR, dtype=torch.float64)
REWARDS = torch.randn(NUMBER, generator=GENERATOR, dtype=torch.float64)
WEIGHTS = 0.1 + torch.rand(NUMBER, generator=GENERATOR, dtype=torch.float64)
LOGS = torch.tensor([-0.5, 0.3, 0.2, -1.0], dtype=torch.float64)


def log_likelihood(logs: torch.Tensor, nu: float | None) -> torch.Tensor:
    """By GPyTorch and the multivariate normal density, differentiable."""
    kernel = RBFKernel() if nu is None else MaternKernel(nu=nu)
    kernel = kernel.double()
    kernel.lengthscale = 1.0
    scaled = POINTS / logs[:-2].exp()[GROUP]
    noise = 1e-4 + 1e-6 * logs[-2].exp() + logs[-1].exp()
    covariance = logs[-2].exp() * kernel(scaled).to_dense() + torch.diag(noise / WEIGHTS)
    inverse = torch.linalg.inv(covariance)
    shift = ((inverse @ REWARDS).sum() / inverse.sum()).detach()
    law = torch.distributions.MultivariateNormal(shift.expand(NUMBER), covariance)
    return law.log_prob(REWARDS) + 0.5 * NUMBER * math.log(2.0 * math.pi)


def log_prior(logs: torch.Tensor, name: str) -> torch.Tensor:
    """By PyTorch's densities, up to a constant."""
    if name == "flat":
        return logs.sum() * 0.0
    variance, scales = logs[-2].exp(), logs[:-2].exp()
    noise = 1e-4 + 1e-6 * variance + logs[-1].exp()
    location, scale = torch.tensor(
        [math.sqrt(2.0) + 0.5 * math.log(2), math.sqrt(3.0)], dtype=torch.float64
    )
    if name == "pooled":
        prior = log_pooled(logs[:-2], location)
    elif name == "long":
        prior = LogNormal(location, scale).log_prob(scales).sum()
    else:
        prior = Gamma(torch.tensor(3.0).double(), torch.tensor(6.0).double()).log_prob(scales).sum()
    return prior - (variance.log() / 3.0) ** 2 / 2.0 - ((noise.log() + 3.0) / 3.0) ** 2 / 2.0


def log_pooled(logs: torch.Tensor, median: torch.Tensor) -> torch.Tensor:
    """Student-t about the most likely center, found by a root of the derivative."""

    def density(center: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        return StudentT(3.0, center, 0.5).log_prob(values).sum() + Normal(median, 2.0).log_prob(
            center
        )

    def slope(center: float) -> float:
        at = torch.tensor(center, dtype=torch.float64, requires_grad=True)
        return float(torch.autograd.grad(density(at, logs.detach()), at)[0])

    center = brentq(slope, float(logs.min().detach()), float(median), xtol=1e-14)
    return density(torch.tensor(center, dtype=torch.float64), logs)


@pytest.mark.parametrize("name", LENGTHSCALE_PRIORS)
@pytest.mark.parametrize(
    ("family", "nu"),
    [("squared_exponential", None), ("matern-1/2", 0.5), ("matern-3/2", 1.5), ("matern-5/2", 2.5)],
)
def test_the_evidence_and_its_gradient_are_gpytorchs(family, nu, name):
    evidence = Evidence(POINTS, REWARDS, GROUP, FAMILIES[family], LENGTHSCALE_PRIORS[name])
    value, gradient = evidence.log_likelihood(Hyperparameters(LOGS), WEIGHTS)
    prior = evidence.log_prior(Hyperparameters(LOGS))
    logs = LOGS.clone().requires_grad_()
    reference = log_likelihood(logs, nu)
    assert value == pytest.approx(float(reference.detach()), rel=1e-8)
    (expected,) = torch.autograd.grad(reference, logs)
    torch.testing.assert_close(torch.from_numpy(gradient), expected, rtol=1e-8, atol=1e-8)
    reference = log_prior(logs, name)
    (expected,) = torch.autograd.grad(reference, logs, allow_unused=True)
    torch.testing.assert_close(torch.from_numpy(prior.gradient), expected, rtol=1e-8, atol=1e-8)
    other = LOGS + 0.1
    change = evidence.log_prior(Hyperparameters(other)).value - prior.value
    assert change == pytest.approx(float(log_prior(other, name) - reference.detach()), abs=1e-9)


@pytest.mark.parametrize(("number", "growth"), [(1, 1.0), (2, 1.0), (8, 2.0), (18, 3.0)])
def test_the_scaled_prior_is_the_short_one_in_units_of_the_distances(number, growth):
    logs = torch.linspace(-1.0, 1.0, number, dtype=torch.float64)

    def short(values: torch.Tensor) -> torch.Tensor:
        law = Gamma(torch.tensor(3.0).double(), torch.tensor(6.0 / growth).double())
        return law.log_prob(values.exp()).sum()

    values = logs.clone().requires_grad_()
    (expected,) = torch.autograd.grad(short(values), values)
    found = LENGTHSCALE_PRIORS["scaled"](logs.numpy())
    np.testing.assert_allclose(found.gradient, expected.numpy(), rtol=1e-12)
    other = LENGTHSCALE_PRIORS["scaled"](logs.numpy() + 0.1)
    change = float(short(logs + 0.1) - short(logs))
    assert other.value - found.value == pytest.approx(change, abs=1e-9)


def literal_exponential(logs, points, rewards, weights):
    """The log marginal likelihood of the exponential kernel, from differences of the points."""
    scales, variance = logs[: points.shape[1]].exp(), logs[-2].exp()
    noise = 1e-4 + 1e-6 * variance + logs[-1].exp()
    differences = (points[:, None] - points) / scales
    squared = differences.square().sum(-1)
    equal = squared == 0.0  # where the root has no derivative
    distance = torch.where(equal, 1.0, squared).sqrt() * ~equal
    total = variance * torch.exp(-distance) + torch.diag(noise / weights)
    inverse = torch.linalg.inv(total)
    residual = rewards - (inverse @ rewards).sum() / inverse.sum()
    return -0.5 * residual @ inverse @ residual - 0.5 * torch.logdet(total)


@pytest.mark.parametrize("logs", [[-0.5, 0.3, 0.2, -2.0], [-6.0, 7.0, 12.3, -16.0]])
def test_a_rough_kernel_is_exact_for_points_that_are_equal_or_close(logs):
    """Its value is linear in the distance: an error of 1e-11 in its square would change it much."""
    generator = torch.Generator().manual_seed(0)
    sites = torch.rand(8, 2, dtype=torch.float64, generator=generator)
    close = sites + torch.tensor([0.0, 1e-4], dtype=torch.float64)
    points = torch.cat([sites, sites, sites, close])
    rewards = torch.randn(len(points), dtype=torch.float64, generator=generator)
    weights = 0.4 + torch.rand(len(points), dtype=torch.float64, generator=generator)
    evidence = Evidence(points, rewards, torch.tensor([0, 1]), FAMILIES["matern-1/2"], None)
    at = torch.tensor(logs, dtype=torch.float64, requires_grad=True)
    expected = literal_exponential(at, points, rewards, weights)
    (gradient,) = torch.autograd.grad(expected, at)
    value, found = evidence.log_likelihood(Hyperparameters(at.detach()), weights)
    assert value == pytest.approx(float(expected.detach()), rel=1e-6)
    torch.testing.assert_close(torch.from_numpy(found), gradient, rtol=1e-5, atol=1e-6)
    model = Hyperparameters(at.detach())
    variance = torch.tensor(model.variance, dtype=torch.float64)
    exponents = evidence.exponents_to(model.lengthscales, points)(points)
    covariance = evidence.covariances(variance, exponents).values
    expected = evidence.covariance_of_rewards(model)
    torch.testing.assert_close(covariance, expected, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_distances_of_many_columns_of_one_lengthscale_are_computed_once(monkeypatch, family):
    """As those of a category of many choices, with the same values and slopes."""
    group = torch.tensor([0, *[1] * 12, 2])
    points = torch.rand(5, 14, generator=GENERATOR, dtype=torch.float64)
    lengthscales = 0.5 + torch.rand(3, 3, generator=GENERATOR, dtype=torch.float64)
    variance = torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)
    alone = torch.rand(4, 14, generator=GENERATOR, dtype=torch.float64)
    found = []
    for wide in (8, 1000):
        monkeypatch.setattr(exponents, "_WIDE", wide)
        one = Evidence(points, points[:, 0], group, family, None)
        assert list(one._metric.wide) == ([1] if wide == 8 else [])
        left = alone.clone().requires_grad_(True)
        values = one.covariances(variance, one.exponents_to(lengthscales, points)(left)).values
        apart = one.exponents_to(lengthscales, points[:2])(left[:, None, None, :])
        groups = one.covariances(variance, apart).values
        (values.sum() + groups.square().sum()).backward()
        found.append((values.detach(), groups.detach(), left.grad))
    assert found[0][0].shape == (3, 4, 5)
    assert found[0][1].shape == (4, 3, 1, 2)
    for once, each in zip(*found, strict=True):
        torch.testing.assert_close(once, each, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("number", [1, 2, 6])
@pytest.mark.parametrize("name", ["long", "scaled"])
def test_priors_in_logs_are_densities_of_the_logarithms(name: str, number: int) -> None:
    logs = torch.linspace(-1.0, 1.5, number, dtype=torch.float64).requires_grad_()
    if name == "long":
        location = torch.tensor(math.sqrt(2.0) + 0.5 * math.log(number), dtype=torch.float64)
        expected = LogNormal(location, math.sqrt(3.0)).log_prob(logs.exp()) + logs
    else:
        unit = math.sqrt(max(number / 2.0, 1.0))
        law = Gamma(torch.tensor(3.0).double(), torch.tensor(6.0).double())
        expected = law.log_prob(logs.exp() / unit) - math.log(unit) + logs
    expected.sum().backward()
    prior = PRIORS_IN_LOGS[name]
    assert prior is not None
    found = prior(logs.detach().numpy())
    assert found.value == pytest.approx(float(expected.sum().detach()), rel=1e-12)
    assert logs.grad is not None
    np.testing.assert_allclose(found.gradient, logs.grad.numpy(), rtol=1e-12)

"""Microscale variation: values that deviate from the smooth function at each point."""

import numpy as np
import pytest
import torch
from scipy import stats

from surefoot._internal.linalg import same_points
from surefoot.hyperparameters import HyperparameterFit, TrainingData
from surefoot.hyperparameters.evidence import LENGTHSCALE_PRIORS, Evidence, Hyperparameters
from surefoot.hyperparameters.laplace import SAMPLES, PosteriorMode
from surefoot.hyperparameters.microscale import sampled_shares
from surefoot.hyperparameters.mixture import Mixture
from surefoot.kernels.families import FAMILIES

GENERATOR = np.random.default_rng(0)
SITES = GENERATOR.random((6, 2))
SITE = np.array([0, 1, 1, 2, 3, 3, 3, 4, 5])
POINTS = SITES[SITE]
REWARDS = GENERATOR.standard_normal(len(SITE))
WEIGHTS = 0.3 + GENERATOR.random(len(SITE))
NEW = np.concatenate([SITES[[1, 4]], GENERATOR.random((2, 2))])
MODEL = Hyperparameters(torch.tensor([-0.8, 0.4, 0.1, -1.0], dtype=torch.float64))
GROUP = torch.tensor([0, 1])
EVIDENCE = Evidence(
    torch.from_numpy(POINTS),
    torch.from_numpy(REWARDS),
    GROUP,
    FAMILIES["matern-5/2"],
    LENGTHSCALE_PRIORS["long"],
)
MODE = PosteriorMode(EVIDENCE, MODEL, torch.from_numpy(WEIGHTS), dof=4.0)


def matern(left, right):
    scales = np.exp(MODEL.logs[:2].numpy())
    distance = np.sqrt(5.0) * np.linalg.norm((left[:, None] - right) / scales, axis=-1)
    return MODEL.variance * (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_moments_are_those_of_a_sum_of_two_processes(share):
    """Conditioning the joint normal law of rewards and values, with a vague prior mean."""
    vague, everywhere = 1e7, np.concatenate([POINTS, NEW])
    values = matern(everywhere, everywhere) + vague
    values += share * MODEL.noise * (everywhere[:, None] == everywhere).all(-1)
    number = len(POINTS)
    rewards = values[:number, :number] + np.diag((1.0 - share) * MODEL.noise / WEIGHTS)
    gain = np.linalg.solve(rewards, values[:number, number:]).T
    found = MODE.given(MODEL, MODE.weights, share).at(torch.from_numpy(NEW))
    np.testing.assert_allclose(found.mean, gain @ REWARDS, atol=1e-5)
    expected = values[number:, number:] - gain @ values[:number, number:]
    np.testing.assert_allclose(found.variance, np.diag(expected), atol=1e-5)
    np.testing.assert_allclose(found.covariance, expected, atol=1e-5)


def test_moments_are_those_of_the_mixture_over_shares():
    shares = torch.linspace(0.0, 0.9, SAMPLES, dtype=torch.float64)
    points = torch.from_numpy(NEW)
    pairs = zip(MODE.samples, shares.tolist(), strict=True)
    given = [MODE.given(*sample, share).at(points) for sample, share in pairs]
    means = torch.stack([one.mean for one in given])
    variances = torch.stack([one.variance for one in given])
    mean, deviation = Mixture([MODE], shares).process.mean_and_deviation(points)
    torch.testing.assert_close(mean, means.mean(0))
    mixture = (variances.mean(0) + means.var(0, correction=0)) * MODE.inflation
    torch.testing.assert_close(deviation.square(), mixture)


def test_the_covariance_of_several_values_is_that_of_the_mixture():
    shares = torch.linspace(0.0, 0.9, SAMPLES, dtype=torch.float64)
    points, mixture = torch.from_numpy(NEW), Mixture([MODE], shares).process
    pairs = zip(MODE.samples, shares.tolist(), strict=True)
    given = [MODE.given(*sample, share).at(points) for sample, share in pairs]
    second = sum(one.covariance + torch.outer(one.mean, one.mean) for one in given) / SAMPLES
    mean = sum(one.mean for one in given) / SAMPLES
    found = mixture.joint(points)
    torch.testing.assert_close(found.mean, mean)
    expected = MODE.inflation * (second - torch.outer(mean, mean))
    torch.testing.assert_close(found.covariance, expected)
    by_group = mixture.joint(points.reshape(2, 2, -1))  # the same in groups
    torch.testing.assert_close(by_group.mean, mean.reshape(2, 2))
    for group in range(2):
        part = slice(2 * group, 2 * group + 2)
        torch.testing.assert_close(by_group.covariance[group], expected[part, part])
    deviation = mixture.mean_and_deviation(points)[1]
    torch.testing.assert_close(found.covariance.diagonal().sqrt(), deviation)


def test_equal_points_are_found_whatever_their_size():
    points = torch.tensor([[1e9, 0.1], [1e9, 0.1], [1e9, 0.1 + 1e-15]], dtype=torch.float64)
    expected = [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert same_points(points, points).tolist() == expected


def test_without_replicates_all_shares_are_as_probable():
    rewards = torch.from_numpy(REWARDS[:6])
    once = Evidence(torch.from_numpy(SITES), rewards, GROUP, FAMILIES["matern-5/2"], None)
    shares = sampled_shares(once, MODEL, torch.ones_like(rewards), 8)
    np.testing.assert_allclose(sorted(shares), (np.arange(8) + 0.5) / 8, atol=1e-12)


@pytest.mark.parametrize("expected", [0.25, 0.5, 0.8])
def test_the_prior_is_a_beta_law_with_that_mean(expected):
    rewards = torch.from_numpy(REWARDS[:6])
    once = Evidence(torch.from_numpy(SITES), rewards, GROUP, FAMILIES["matern-5/2"], None)
    shares = sampled_shares(once, MODEL, torch.ones_like(rewards), 64, expected)
    law = stats.beta(1.0, 1.0 / expected - 1.0)
    np.testing.assert_allclose(np.sort(shares), law.ppf((np.arange(64) + 0.5) / 64), atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("expected", [0.25, 0.5])
def test_the_likelihood_of_replicates_is_that_of_a_normal_law(expected):
    """The draws are quantiles of the density that a fine grid gives."""
    grid = (np.arange(2000) + 0.5) / 2000
    logs = []
    for share in grid:
        total = matern(POINTS, POINTS) + share * MODEL.noise * (SITE[:, None] == SITE)
        total += np.diag((1.0 - share) * MODEL.noise / WEIGHTS)
        inverse, ones = np.linalg.inv(total), np.ones(len(SITE))
        residual = REWARDS - (ones @ inverse @ REWARDS) / (ones @ inverse @ ones)
        logs.append(-0.5 * (residual @ inverse @ residual + np.linalg.slogdet(total)[1]))
    density = np.exp(np.array(logs) - max(logs)) * (1.0 - grid) ** (1.0 / expected - 2.0)
    levels = np.searchsorted(density.cumsum() / density.sum(), (np.arange(64) + 0.5) / 64)
    drawn = sampled_shares(EVIDENCE, MODEL, MODE.weights, 64, expected)
    np.testing.assert_allclose(np.sort(drawn), grid[levels], atol=0.01)


@pytest.mark.parametrize(
    ("within", "between", "low", "high"), [(0.05, 1, 0.7, 1), (1, 0.05, 0, 0.4)]
)
def test_replicates_tell_microscale_variation_from_noise(within, between, low, high):
    """Thirty points, each measured twice, of a constant function with deviations of both kinds."""
    generator = np.random.default_rng(1)
    sites = np.repeat(generator.random((30, 2)), 2, axis=0)
    deviations = np.repeat(between * generator.standard_normal(30), 2)
    rewards = deviations + within * generator.standard_normal(60)
    data = TrainingData(
        torch.from_numpy(sites), torch.from_numpy(rewards), torch.zeros(2), torch.ones(2)
    )
    evidence = Evidence(data.points, data.rewards, GROUP, FAMILIES["matern-5/2"], None)
    smooth = Hyperparameters(
        torch.tensor([0.0, 0.0, -6.0, np.log(within**2 + between**2)]).double()
    )
    shares = sampled_shares(evidence, smooth, torch.ones(60).double(), SAMPLES)
    assert low < float(shares.mean()) < high


def test_intervals_of_a_fit_allow_for_it_until_replicates_show_noise():
    """At a new point, by half the noise where nothing was measured twice, and by less after."""
    generator = np.random.default_rng(2)
    once, often = generator.random((20, 3)), np.full((12, 3), 0.5)
    new, more = torch.full((1, 3), 0.4, dtype=torch.float64), []
    for sites in (once, np.concatenate([once, often])):
        rewards = sites.sum(-1) + 0.3 * np.random.default_rng(3).standard_normal(len(sites))
        points, bounds = torch.from_numpy(sites), (torch.zeros(3), torch.ones(3))
        data = TrainingData(points, torch.from_numpy(rewards), *bounds)
        fitted = HyperparameterFit().fit(data)
        fits = (HyperparameterFit(), HyperparameterFit(microscale=0.5))
        found = [fit.uncertainty(fitted, data).process.mean_and_deviation(new)[1] for fit in fits]
        plain, wider = (deviation.square() for deviation in found)
        more.append(float(wider - plain) / 0.3**2)
    assert 0.3 < more[0] < 0.7
    assert -0.1 < more[1] < 0.5 * more[0]

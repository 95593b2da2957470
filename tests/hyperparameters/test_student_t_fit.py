"""Hyperparameters fitted to simulated data."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot._internal.effects import EFFECTS
from surefoot.algorithms import robust_ucb
from surefoot.hyperparameters import GAUSSIAN, HyperparameterFit, TrainingData
from surefoot.hyperparameters.evidence import LENGTHSCALE_PRIORS
from surefoot.hyperparameters.model_choice import _log_evidence

SPREAD, HOMED = 15, 100
LOWER, SPAN = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)


def function(x: torch.Tensor) -> torch.Tensor:
    """Smooth, with a standard deviation of 4 over the unit square and a maximum at (0.39, 0)."""
    return 5.0 * torch.sin(4.0 * x[:, 0]) + 3.0 * torch.cos(3.0 * x[:, 1])


def converged_search(seed: int, noise: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Observations of a search that converged early: most rewards are alike."""
    generator = torch.Generator().manual_seed(seed)
    spread = torch.rand(SPREAD, 2, generator=generator, dtype=torch.float64)
    steps = torch.randn(HOMED, 2, generator=generator, dtype=torch.float64)
    near = torch.tensor([0.39, 0.02], dtype=torch.float64) + 0.002 * steps
    points = torch.cat([spread, near])
    errors = torch.randn(len(points), generator=generator, dtype=torch.float64)
    return points, function(points) + noise * errors


def error_of(fit: HyperparameterFit, points: torch.Tensor, rewards: torch.Tensor) -> float:
    """Root mean square error of the posterior mean over the square."""
    fitted = fit.fit(TrainingData(points, rewards, LOWER, SPAN))
    grid = torch.linspace(0, 1, 15, dtype=torch.float64)
    everywhere = torch.cartesian_prod(grid, grid)
    with torch.no_grad():
        covariance = fitted.kernel(points).to_dense() + torch.diag(fitted.noise / fitted.weights)
        standard = (rewards - fitted.center) / fitted.scale
        across = fitted.kernel(everywhere, points).to_dense()
        mean = fitted.center + fitted.scale * across @ torch.linalg.solve(covariance, standard)
    return float((mean - function(everywhere)).square().mean().sqrt())


FITS = {
    "Gaussian": HyperparameterFit("squared_exponential", dof=GAUSSIAN),
    "Student-t": HyperparameterFit("squared_exponential"),
    "Student-t, Matern": HyperparameterFit(),
}


@pytest.mark.long
@pytest.mark.parametrize(("seed", "noise"), [(0, 0.01), (1, 0.05)])
@pytest.mark.parametrize("name", FITS)
def test_observations_away_from_the_optimum_are_not_outliers_after_convergence(name, seed, noise):
    # The median absolute deviation is that of the noise here: all else looks like an outlier.
    assert error_of(FITS[name], *converged_search(seed, noise)) < 1.0


@pytest.mark.long
@pytest.mark.parametrize("name", FITS)
def test_units_of_the_rewards_do_not_matter(name):
    points, rewards = converged_search(0, 0.05)
    fitted = FITS[name].fit(TrainingData(points, rewards, LOWER, SPAN))
    other = FITS[name].fit(TrainingData(points, 4096.0 * rewards + 65536.0, LOWER, SPAN))
    assert other.scale == pytest.approx(4096.0 * fitted.scale, rel=1e-9)
    assert other.center == pytest.approx(4096.0 * fitted.center + 65536.0, rel=1e-4)
    torch.testing.assert_close(other.weights, fitted.weights, rtol=0, atol=1e-2)


@pytest.mark.long
def test_outliers_are_distinguished_from_a_converged_search():
    points, rewards = converged_search(1, 0.05)
    spiked = rewards.clone()
    spiked[::10] += 60.0
    weights = HyperparameterFit().fit(TrainingData(points, spiked, LOWER, SPAN)).weights
    assert float(weights[::10].max()) < 0.05
    away = torch.ones(len(points), dtype=torch.bool)
    away[::10] = False
    assert float(weights[away].mean()) > 0.5
    assert error_of(HyperparameterFit(), points, spiked) < 1.5


def test_few_rewards_that_do_not_vary_leave_a_short_lengthscale_possible():
    # Otherwise an upper confidence bound would never explore along that coordinate again.
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(12, 2, generator=generator, dtype=torch.float64)
    rewards = torch.sin(6.0 * points[:, 1])
    scales = {}
    for name in ("long", "short"):
        fit = HyperparameterFit("squared_exponential", dof=GAUSSIAN, lengthscales=name)
        fitted = fit.fit(TrainingData(points, rewards, LOWER, SPAN))
        scales[name] = fitted.kernel.base_kernel.lengthscale.detach().reshape(-1)
    assert float(scales["short"][0]) < 2.0 < 4.0 < float(scales["long"][0])
    assert float(scales["short"][1]) == pytest.approx(float(scales["long"][1]), rel=0.5)


def test_a_flat_prior_gives_the_maximum_of_the_likelihood():
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(30, 2, generator=generator, dtype=torch.float64)
    rewards = function(points) + 0.3 * torch.randn(30, generator=generator, dtype=torch.float64)

    def log_likelihood(fitted) -> float:
        y = (rewards - fitted.center) / fitted.scale
        noise = fitted.noise * torch.eye(30, dtype=torch.float64)
        with torch.no_grad():
            covariance = fitted.kernel(points).to_dense() + noise
        law = torch.distributions.MultivariateNormal(torch.zeros_like(y), covariance)
        return float(law.log_prob(y) - 30 * torch.tensor(fitted.scale).log())

    def fitted(prior: str):
        fit = HyperparameterFit("squared_exponential", dof=GAUSSIAN, lengthscales=prior)
        return fit.fit(TrainingData(points, rewards, LOWER, SPAN))

    flat = log_likelihood(fitted("flat"))
    assert flat > log_likelihood(fitted("short")) + 0.01
    assert flat > log_likelihood(fitted("long")) + 0.01


def test_pooled_lengthscales_do_not_fit_the_noise_of_many_variables():
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(100, 30, generator=generator, dtype=torch.float64)
    noise = torch.randn(100, generator=generator, dtype=torch.float64)
    rewards = points[:, :10].sum(-1) + noise
    shares = {}
    for name in ("long", "pooled"):
        fit = HyperparameterFit(lengthscales=name)
        data = TrainingData(points, rewards, torch.zeros(30), torch.ones(30))
        fitted = fit.fit(data)
        shares[name] = fitted.noise**0.5 * fitted.scale
    assert shares["long"] < 0.6 < 0.8 < shares["pooled"] < 1.2


def test_pooled_lengthscales_differ_where_few_variables_matter():
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(60, 30, generator=generator, dtype=torch.float64)
    noise = torch.randn(60, generator=generator, dtype=torch.float64)
    rewards = torch.sin(5.0 * points[:, 3]) + 0.1 * noise
    fit = HyperparameterFit(lengthscales="pooled")
    data = TrainingData(points, rewards, torch.zeros(30), torch.ones(30))
    scales = fit.fit(data).kernel.base_kernel.lengthscale.detach().reshape(-1)
    others = torch.cat([scales[:3], scales[4:]])
    assert 5.0 * float(scales[3]) < float(others.min())


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_equal_rewards_of_a_search_that_has_converged_are_the_best(seed: int) -> None:
    draw = np.random.default_rng(seed)
    best = np.array([0.3, -0.2])
    near, far = best + 1e-3 * draw.standard_normal((100, 2)), draw.uniform(-1.0, 1.0, (60, 2))
    points = np.concatenate([far, near])
    distances = np.linalg.norm(points - best, axis=1)
    losses = np.round(1000.0 * distances**2 * np.exp(draw.standard_normal(160)), 1) + 1035.35
    optimizer = robust_ucb(sf.Box([-1.0, -1.0], [1.0, 1.0]), seed=0)
    optimizer.tell_all(points, -losses)
    found = optimizer.recommend()
    assert np.linalg.norm(found.point.numpy() - best) < 0.1
    assert found.lower < -1035.35 < found.upper


def test_rewards_that_are_all_equal_can_be_fitted() -> None:
    optimizer = robust_ucb(sf.Box([0.0], [1.0]), seed=0)
    optimizer.tell_all(np.linspace(0.0, 1.0, 12)[:, None], [3.0] * 12)
    assert optimizer.recommend().value == 3.0


@pytest.mark.long
def test_more_rewards_than_those_that_choose_the_optimum_determine_it() -> None:
    # 150 of 300 choose it; the others are noisier.
    number = 300
    few = np.linspace(0, number - 1, 150).round().astype(int)
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(number, 2, generator=generator, dtype=torch.float64)
    deviation = torch.full((number,), 2.0, dtype=torch.float64)
    deviation[few] = 0.1
    noise = deviation * torch.randn(number, generator=generator, dtype=torch.float64)
    data = TrainingData(points, function(points) + noise, LOWER, SPAN)
    fitted = HyperparameterFit(dof=GAUSSIAN).fit(data)
    assert fitted.noise**0.5 * fitted.scale == pytest.approx(2.0**0.5, rel=0.25)


@pytest.mark.long
def test_a_maximum_that_is_alone_in_a_part_of_the_rewards_is_not_an_outlier() -> None:
    number, fit = 300, HyperparameterFit(lengthscales="short")
    sobol = torch.quasirandom.SobolEngine(4, scramble=True, seed=0)
    points = sobol.draw(number, dtype=torch.float64)
    noise = torch.randn(number, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    peak = 6.0 * torch.exp(-0.5 * ((points - 0.5) / 0.2).square().sum(-1))
    rewards, cube = peak + 0.1 * noise, (torch.zeros(4), torch.ones(4))
    found = fit.fit(TrainingData(points, rewards, *cube))  # every second one chooses the start
    assert float(found.weights.min()) > 0.9
    assert len(found.part) == 0


@pytest.mark.daily(1)
@pytest.mark.parametrize("together", [True, False], ids=["together", "apart"])
def test_outliers_are_a_narrow_maximum_where_they_are_together(together: bool) -> None:
    number, fit = 300, HyperparameterFit(lengthscales="short", warped=True)
    sobol = torch.quasirandom.SobolEngine(2, scramble=True, seed=0)
    points = sobol.draw(number, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    noise = 0.1 * torch.randn(number, generator=generator, dtype=torch.float64)
    peak = 6.0 * torch.exp(-0.5 * ((points - 0.6) / 0.05).square().sum(-1))
    high = (peak > 0.5).nonzero()[:, 0]
    placed = peak if together else peak[torch.randperm(number, generator=generator)]
    rewards = placed + 0.3 * torch.sin(4.0 * points[:, 0]) + noise
    spikes = torch.tensor([3, 50, 99, 170, 240])
    assert not set(spikes.tolist()) & set(high.tolist())
    rewards[spikes] += 8.0
    fitted = fit.fit(TrainingData(points, rewards, LOWER, SPAN))
    assert float(fitted.weights[spikes].max()) < 0.1
    assert (float(fitted.weights[high].min()) > 0.9) == together
    assert (len(fitted.part) > 0) == together


def test_a_spike_as_large_as_what_is_measured_elsewhere_is_an_outlier() -> None:
    """It is far from those about it, not from the median."""
    points = torch.rand(40, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    rewards = 8.0 * points[:, 0] + 4.0 * points[:, 1].square()
    low = int(rewards.argmin())
    rewards[low] = 8.0
    cube = torch.zeros(4), torch.ones(4)
    fitted = HyperparameterFit(warped=True).fit(TrainingData(points, rewards, *cube))
    assert int(fitted.weights.argmin()) == low
    assert float(fitted.weights[low]) < 0.01


def cube(number: int, dimension: int) -> torch.Tensor:
    sobol = torch.quasirandom.SobolEngine(dimension, scramble=True, seed=0)
    return sobol.draw(number, dtype=torch.float64)


@pytest.mark.long
@pytest.mark.parametrize("lengthscales", ["long", "short"])
@pytest.mark.parametrize(("shape", "number"), [("bowl", 24), ("plane", 36)])
def test_the_alternative_is_what_the_rewards_do_not_contradict(
    lengthscales: Literal["long", "short"], shape: str, number: int
) -> None:
    points = cube(number, 6)
    noise = torch.randn(number, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    values = (points[:, 1:] - 0.5).square().sum(-1) if shape == "bowl" else points.sum(-1)
    data = TrainingData(points, values + 0.01 * noise, torch.zeros(6), torch.ones(6))
    rule = HyperparameterFit(lengthscales=lengthscales)
    fitted = rule.fit(data)
    other, alternative = rule.alternative(fitted, data)
    if lengthscales == "long" and shape == "bowl":
        scales = [one.kernel.base_kernel.lengthscale for one in (fitted, alternative)]
        assert float(scales[1].max()) < 0.5 * float(scales[0].max())
        assert other == replace(rule, lengthscales="scaled")
        assert other.alternative(alternative, data) == (other, alternative)
    else:
        assert other is rule
        assert alternative is fitted


@pytest.mark.parametrize("dimension", [1, 6, 20])
def test_a_single_reward_is_no_evidence_for_a_prior_of_the_lengthscales(dimension: int) -> None:
    data = TrainingData(
        cube(1, dimension), torch.ones(1).double(), torch.zeros(dimension), torch.ones(dimension)
    )
    rule = HyperparameterFit()
    mode = rule._mode(rule.fit(data), data)
    scaled = replace(mode, evidence=replace(mode.evidence, prior=LENGTHSCALE_PRIORS["scaled"]))
    long, other = (
        _log_evidence(one, name, rule._ascent) for one, name in ((mode, "long"), (scaled, "scaled"))
    )
    assert long == pytest.approx(other, abs=0.5 + 0.03 * dimension)  # Laplace's error


@pytest.mark.long
@pytest.mark.parametrize("column", ["workers", "times"])
def test_the_alternative_has_the_effects_of_conditions(column: str) -> None:
    number = 30
    points, conditions = cube(number, 2), torch.arange(number)
    offsets = conditions % 3 if column == "workers" else conditions / 10.0
    noise = torch.randn(number, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    rewards = -(points - 0.5).square().sum(-1) + offsets + 0.01 * noise
    given = conditions % 3 if column == "workers" else conditions.double()
    data = TrainingData(points, rewards, LOWER, SPAN, **{column: given})  # type: ignore[arg-type]
    rule = HyperparameterFit(effects=EFFECTS)
    fitted = rule.fit(data)
    other, alternative = rule.alternative(fitted, data)
    assert other.lengthscales == "scaled"
    assert [one.name for one in alternative.effects.effects] == [
        one.name for one in fitted.effects.effects
    ]
    first, second = (rule.contrasts(fitted, data), other.contrasts(alternative, data))
    for name, contrast in first.items():
        torch.testing.assert_close(contrast.mean, second[name].mean, rtol=0.0, atol=0.1)


def test_many_rewards_and_many_lengthscales_have_no_alternative() -> None:
    for number, dimension in ((151, 1), (10, 40)):
        points = cube(number, dimension)
        rewards = (4.0 * points[:, 0]).sin()
        data = TrainingData(points, rewards, torch.zeros(dimension), torch.ones(dimension))
        rule = HyperparameterFit(passes=1, steps=5)
        fitted = rule.fit(data)
        assert rule.alternative(fitted, data)[1] is fitted


def peaked(dimension: int, number: int, width: float) -> TrainingData:
    """Rewards at random points of a function that is 0 nearly everywhere, with a peak of 8."""
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(number, dimension, generator=generator, dtype=torch.float64)
    noise = 0.05 * torch.randn(number, generator=generator, dtype=torch.float64)
    peak = 8.0 * torch.exp(-0.5 * ((points - 0.4) / width).square().sum(-1))
    return TrainingData(points, peak + noise, torch.zeros(dimension), torch.ones(dimension))


@pytest.mark.long
@pytest.mark.parametrize(("dimension", "width"), [(3, 0.12), (4, 0.18), (6, 0.25)])
def test_a_peak_is_not_taken_for_outliers(dimension: int, width: float) -> None:
    data, fit = peaked(dimension, 60, width), HyperparameterFit(warped=True)
    fitted = fit.fit(data)
    assert float(fitted.weights[data.rewards.topk(10).indices].min()) > 0.9
    hole = fit.fit(replace(data, rewards=-data.rewards))
    assert torch.allclose(hole.weights, fitted.weights, atol=0.01), "nor is its mirror image"


@pytest.mark.long
def test_outliers_beside_a_peak_stay_outliers() -> None:
    data = peaked(4, 60, 0.18)
    high = data.rewards > 1.0
    spikes = (~high).nonzero()[:3, 0]
    rewards = data.rewards.index_add(0, spikes, torch.tensor([10.0, -10.0, 10.0]).double())
    fitted = HyperparameterFit(warped=True).fit(replace(data, rewards=rewards))
    assert float(fitted.weights[spikes].max()) < 0.3
    assert float(fitted.weights[high].median()) > 0.5


NOISES = {
    "normal": lambda normals, uniforms: normals,
    "heavy-tailed": lambda normals, uniforms: normals / uniforms.sqrt(),
}


@pytest.mark.long
@pytest.mark.parametrize("noise", NOISES)
def test_near_a_peak_no_transformation_predicts_worse_than_none(noise: str) -> None:
    """Half of the points about a peak on a level, as after a search; noise of one size everywhere.

    By the evidence of all rewards alone, a logarithmic scale was chosen in most of these.
    """
    errors = []
    for seed in range(3):
        own = torch.Generator().manual_seed(seed)

        def uniform(*shape: int, own: torch.Generator = own) -> torch.Tensor:
            return torch.rand(shape, dtype=torch.float64, generator=own)

        def normal(*shape: int, own: torch.Generator = own) -> torch.Tensor:
            return torch.randn(shape, dtype=torch.float64, generator=own)

        def peak(x: torch.Tensor) -> torch.Tensor:
            return 8.0 * (-0.5 * ((x - 0.4) / 0.3).square().sum(-1)).exp()

        near, held_out = ((0.4 + 0.1 * normal(n, 6)).clamp(0.0, 1.0) for n in (50, 400))
        x = torch.cat([uniform(50, 6), near])
        y = peak(x) + 0.3 * NOISES[noise](normal(100), uniform(100))
        problem = sf.Problem(sf.Box([0.0] * 6, [1.0] * 6))
        method = sf.algorithms.robust(problem)
        plain = replace(method, kernel=replace(method.kernel, warped=False))  # type: ignore[type-var]
        for each in (method, plain):
            optimizer = sf.Optimizer(problem, each, seed=0)
            optimizer.tell_all(x, y)
            value, _, _ = optimizer.belief().predict(held_out)
            errors.append(float((value - peak(held_out)).square().mean().sqrt()))
    assert sum(errors[::2]) <= 1.1 * sum(errors[1::2])

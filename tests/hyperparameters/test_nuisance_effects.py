"""Effects of worker and time: covariance, evidence, posterior mean; found where they are."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.optimize import approx_fprime

from surefoot.hyperparameters import HyperparameterFit, TrainingData
from surefoot.hyperparameters.evidence import LENGTHSCALE_PRIORS, Evidence, Hyperparameters
from surefoot.hyperparameters.laplace import PosteriorMode
from surefoot.hyperparameters.mixture import Mixture
from surefoot.hyperparameters.nuisance_effects import (
    DriftEffect,
    GroupEffect,
    active_time,
    by_effect,
    groups_of,
    screened,
)
from surefoot.kernels.families import FAMILIES
from surefoot.regression.observations import Conditions
from surefoot.types import InvalidInput

NAN = math.nan
NUMBER, GROUP = 9, torch.tensor([0, 1])
GENERATOR = torch.Generator().manual_seed(0)
POINTS = torch.rand(NUMBER, 2, generator=GENERATOR, dtype=torch.float64)
REWARDS = torch.randn(NUMBER, generator=GENERATOR, dtype=torch.float64)
WEIGHTS = 0.1 + torch.rand(NUMBER, generator=GENERATOR, dtype=torch.float64)
WORKERS = torch.tensor([0, 1, 2, 0, -1, 1, 1, 2, 0])
TIMES = torch.tensor([0.0, 1.0, 1.5, 2.0, 4.0, NAN, 7.0, 8.0, 9.5], dtype=torch.float64)
UNDER = Conditions(WORKERS, TIMES, POINTS)
EFFECTS = (GroupEffect("worker", groups_of("worker", UNDER)), DriftEffect(TIMES, 3.0))
MODEL = Hyperparameters(
    torch.tensor([-0.5, 0.3, 0.2, -1.0], dtype=torch.float64),
    torch.tensor([-0.7, -0.4, 0.1], dtype=torch.float64),
)


def effect(worker, time, other_worker, other_time) -> float:
    """Covariance of the effects under two conditions, as a literal transcription."""
    logs = MODEL.effects
    total = 0.0
    if worker == other_worker != -1:
        total += math.exp(logs[0])
    if not math.isnan(time) and not math.isnan(other_time):
        total += math.exp(logs[1]) * math.exp(-abs(time - other_time) / 3.0 / math.exp(logs[2]))
    return total


def test_rewards_beside_others_have_the_covariance_of_all_together() -> None:
    every = Evidence(
        POINTS, REWARDS, GROUP, FAMILIES["matern-5/2"], LENGTHSCALE_PRIORS["long"], effects=EFFECTS
    )
    whole = every.covariance_of_rewards(MODEL)
    first = [one.on(Conditions(*(each[:5] for each in UNDER))) for one in EFFECTS]
    known = Evidence(
        POINTS[:5], REWARDS[:5], GROUP, FAMILIES["matern-5/2"], every.prior, effects=tuple(first)
    )
    across, variance = known.beside(MODEL, POINTS[5:], Conditions(*(each[5:] for each in UNDER)))
    torch.testing.assert_close(across, whole[5:, :5])
    torch.testing.assert_close(variance, whole.diagonal()[5:])


def test_the_effect_of_a_level_is_less_than_that_of_the_last_one() -> None:
    """Which has none: its contrast with the reference is the effect itself."""
    levels = torch.tensor([0.0, 0.0, 0.5, 1.0, 1.0], dtype=torch.float64)
    under = Conditions(WORKERS[:5], TIMES[:5], torch.stack([POINTS[:5, 0], levels], -1))
    effect, logs = GroupEffect("level", groups_of("level", under)), MODEL.effects[:1]
    same = torch.block_diag(torch.ones(2, 2), torch.ones(1, 1), torch.zeros(2, 2)).double()
    expected = math.exp(logs) * same
    torch.testing.assert_close(effect.covariance(logs).values, expected)
    across, variance = effect.contrast(logs, under)
    torch.testing.assert_close(across, expected)
    torch.testing.assert_close(variance, expected.diagonal())
    assert float(effect.reference(logs)[0].abs().max()) == effect.reference(logs)[1] == 0.0


def dense(model: Hyperparameters) -> tuple[torch.Tensor, torch.Tensor]:
    """Covariance of the effects, and that of the rewards."""
    conditions = list(zip(WORKERS.tolist(), TIMES.tolist(), strict=True))
    effects = torch.tensor(
        [[effect(*one, *other) for other in conditions] for one in conditions], dtype=torch.float64
    )
    alone = Evidence(POINTS, REWARDS, GROUP, FAMILIES["matern-5/2"], None)
    function = alone.covariance_of_rewards(model)
    return effects, effects + function + torch.diag(model.noise / WEIGHTS)


def test_the_covariance_is_the_literal_one():
    evidence = Evidence(POINTS, REWARDS, GROUP, FAMILIES["matern-5/2"], None, effects=EFFECTS)
    total = evidence.covariance_of_rewards(MODEL) + torch.diag(MODEL.noise / WEIGHTS)
    torch.testing.assert_close(total, dense(MODEL)[1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", LENGTHSCALE_PRIORS)
def test_the_gradient_is_that_of_finite_differences(name):
    evidence = Evidence(
        POINTS, REWARDS, GROUP, FAMILIES["matern-5/2"], LENGTHSCALE_PRIORS[name], effects=EFFECTS
    )

    def value(free: np.ndarray) -> float:
        at = MODEL.moved_to(torch.from_numpy(free))
        return evidence.log_likelihood(at, WEIGHTS)[0] + evidence.log_prior(at).value

    gradient = evidence.log_likelihood(MODEL, WEIGHTS)[1]
    gradient = gradient + evidence.log_prior(MODEL).gradient
    expected = approx_fprime(MODEL.free.numpy(), value, 1e-7)
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-5)


def test_the_function_at_the_reference_level_is_that_of_the_dense_formula():
    """The reference level is the latest time and the average of the workers."""
    evidence = Evidence(
        POINTS, REWARDS, GROUP, FAMILIES["matern-5/2"], LENGTHSCALE_PRIORS["long"], effects=EFFECTS
    )
    mode = PosteriorMode(evidence, MODEL, WEIGHTS, dof=4.0)
    new = torch.tensor([[0.2, 0.4], [0.9, 0.1]], dtype=torch.float64)
    at = mode.given(MODEL, WEIGHTS).at(new)
    mean, variance = at.mean, at.variance
    inverse = torch.linalg.inv(dense(MODEL)[1])
    ones = torch.ones(NUMBER, dtype=torch.float64)
    shift = (ones @ inverse @ REWARDS) / (ones @ inverse @ ones)
    level = torch.zeros(NUMBER, dtype=torch.float64)
    variance_of_level = math.exp(MODEL.effects[0]) / 3.0 + math.exp(MODEL.effects[1])
    for index, (worker, time) in enumerate(zip(WORKERS.tolist(), TIMES.tolist(), strict=True)):
        average = sum(effect(w, NAN, worker, time) for w in range(3)) / 3.0
        level[index] = average + effect(-2, 9.5, worker, time)
    for row, at in enumerate(new):
        across = mode.given(MODEL, WEIGHTS).between(at.unsqueeze(0), POINTS)[0] + level
        expected = shift + across @ inverse @ (REWARDS - shift)
        prior = MODEL.variance + variance_of_level
        spread = prior - across @ inverse @ across
        spread = spread + (1.0 - ones @ inverse @ across) ** 2 / (ones @ inverse @ ones)
        assert float(mean[row]) == pytest.approx(float(expected), rel=1e-6)
        assert float(variance[row]) == pytest.approx(float(spread), rel=1e-6)


@pytest.mark.parametrize("effects", [EFFECTS, ()])
def test_drawn_functions_have_the_moments_of_the_mixture(effects):
    model = MODEL if effects else MODEL.moved_to(MODEL.logs)
    evidence = Evidence(
        POINTS, REWARDS, GROUP, FAMILIES["matern-5/2"], LENGTHSCALE_PRIORS["long"], effects=effects
    )
    mode = PosteriorMode(evidence, model, WEIGHTS, dof=4.0)
    mixture = Mixture([mode]).process
    new = torch.tensor([[0.2, 0.4], [0.9, 0.1], [0.2, 0.4]], dtype=torch.float64)
    drawn = mixture.draws(new, 64_000, torch.Generator().manual_seed(0))
    mean, deviation = mixture.mean_and_deviation(new)
    variance = deviation.square()
    assert drawn.shape == (3, 64_000)
    error = (variance / 64_000).sqrt()
    assert bool(((drawn.mean(1) - mean).abs() < 6.0 * error).all())
    # The variance between the means of the samples is not inflated.
    assert bool((drawn.var(1) < 1.05 * variance).all())
    assert bool((drawn.var(1) > 0.6 * variance).all())
    torch.testing.assert_close(drawn[0], drawn[2], rtol=0.0, atol=1e-2)


def data(rewards, workers=None, times=None, seed=0, number=48) -> TrainingData:
    points = torch.from_numpy(np.random.default_rng(seed).random((number, 1)))
    return TrainingData(
        points,
        torch.sin(6.0 * points[:, 0]) + rewards,
        torch.zeros(1),
        torch.ones(1),
        workers=torch.full((), -1) if workers is None else workers,
        times=torch.full((), NAN, dtype=torch.float64) if times is None else times,
    )


def noise(seed: int, number: int = 48) -> torch.Tensor:
    return 0.1 * torch.from_numpy(np.random.default_rng(1000 + seed).standard_t(3, number))


@pytest.mark.long
def test_effects_are_found_and_taken_out():
    """Rewards without the effects are what they would be at one level."""
    clock = torch.arange(48.0, dtype=torch.float64)
    workers = torch.arange(48) % 4
    sizes = torch.tensor([0.5, -0.4, 0.2, -0.3], dtype=torch.float64)
    step = torch.where(clock < 24, 0.0, 1.5)
    given = data(noise(0) + step + sizes[workers], workers, clock)
    fitted = HyperparameterFit().fit(given)
    assert [type(one) for one in fitted.effects.effects] == [DriftEffect, GroupEffect]
    left = fitted.without_effects(given.rewards, given.conditions) - given.rewards
    expected = 1.5 - step - (sizes - sizes.mean())[workers]
    # The level at the very end is known from few rewards; differences from it are not.
    error = left - expected
    error = (error - error.median()).abs()
    assert float(error[:-3].max()) < 0.4
    assert float(error.median()) < 0.12


def test_what_is_not_known_of_the_hyperparameters_is_part_of_the_deviation_of_an_effect():
    workers = torch.arange(30) % 3
    rewards = noise(0, 30) * 0.3 + (workers == 2).double()
    known, fit = data(rewards, workers=workers, number=30), HyperparameterFit()
    fitted = fit.fit(known)
    found = fit.contrasts(fitted, known)["worker"]
    mode = fit._mode(fitted, known)
    ((effect, logs),) = by_effect(mode.evidence.effects, mode.model.effects)
    inverse, solved = mode.evidence.solved(mode.model, mode.weights)
    across, prior = effect.contrast(logs, known.conditions)
    alone = fitted.scale * (prior - ((across @ inverse) * across).sum(-1)).sqrt()
    assert torch.allclose(found.mean, fitted.scale * (across @ solved))
    assert bool((found.deviation > 1.03 * alone).all())
    assert bool((found.deviation < 2.0 * alone).all())


@pytest.mark.long
def test_the_mean_of_the_effects_is_that_of_the_dense_formula():
    clock, workers = torch.arange(48.0, dtype=torch.float64), torch.arange(48) % 4
    step = torch.where(clock < 24, 0.0, 1.5)
    given = data(noise(0) + step, workers, clock)
    fitted = HyperparameterFit(effects=["drift"]).fit(given)
    variance, timescale = fitted.effects.logs.exp().tolist()
    gaps = (clock[:, None] - clock).abs() / active_time(clock)
    drift = variance * (-gaps / timescale).exp()
    kernel = fitted.kernel(given.points).to_dense().detach()
    total = kernel + drift + torch.diag(fitted.noise / fitted.weights)
    inverse = torch.linalg.inv(total)
    y = (given.rewards - fitted.center) / fitted.scale + fitted.effects.level
    y = y - (inverse @ y).sum() / inverse.sum()
    expected = drift @ inverse @ y
    offsets = fitted.effects.offsets(Conditions(workers, clock, given.points))
    torch.testing.assert_close(offsets, expected - expected[-1], rtol=1e-6, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("known", ["neither", "worker", "drift"])
def test_without_effects_the_fit_is_the_same_to_the_last_bit(known):
    workers = torch.arange(48) % 4 if known == "worker" else None
    times = torch.arange(48.0, dtype=torch.float64) if known == "drift" else None
    for seed in range(3):
        plain = HyperparameterFit().fit(data(noise(seed), seed=seed))
        fitted = HyperparameterFit().fit(data(noise(seed), workers, times, seed))
        assert fitted.effects.is_none
        assert fitted.noise == plain.noise
        assert torch.equal(fitted.weights, plain.weights)


@pytest.mark.long
def test_effects_are_dropped_where_there_are_none():
    found = 0
    for seed in range(20):
        workers, times = torch.arange(48) % 4, torch.arange(48.0, dtype=torch.float64)
        found += (
            not HyperparameterFit().fit(data(noise(seed), workers, times, seed)).effects.is_none
        )
    assert found <= 1


@pytest.mark.long
def test_outliers_are_not_taken_for_a_drift():
    clock = torch.arange(48.0, dtype=torch.float64)
    for seed in range(5):
        spikes = torch.zeros(48, dtype=torch.float64)
        spikes[torch.from_numpy(np.random.default_rng(seed).choice(48, 5, replace=False))] = 30.0
        fitted = HyperparameterFit().fit(data(noise(seed) + spikes, times=clock, seed=seed))
        assert fitted.effects.is_none


def test_rewards_under_unknown_conditions_have_no_effect():
    clock = torch.arange(48.0, dtype=torch.float64)
    step = torch.where(clock < 24, 0.0, 1.5)
    fitted = HyperparameterFit().fit(data(noise(0) + step, times=clock))
    unknown = fitted.effects.offsets(
        Conditions(torch.tensor([-1, 5]), torch.tensor([NAN, 47.0]), POINTS[:2])
    )
    assert unknown.tolist() == pytest.approx([-fitted.effects.level, 0.0], abs=1e-12)


def test_a_pause_is_no_more_than_ten_gaps():
    clock = torch.tensor([0.0, 1.0, 2.0, 1002.0, 1003.0], dtype=torch.float64)
    assert active_time(clock) == 3.0 + 10.0
    assert active_time(clock.flip(0)) == active_time(torch.cat([clock, clock]))


def test_the_score_test_starts_near_the_variance_of_an_effect():
    workers = torch.arange(200) % 10
    generator = torch.Generator().manual_seed(0)
    sizes = 0.5 * torch.randn(10, generator=generator, dtype=torch.float64)
    y = sizes[workers] + torch.randn(200, generator=generator, dtype=torch.float64)
    identity = torch.eye(200, dtype=torch.float64)
    found = screened(GroupEffect("worker", workers.double()), identity, y - y.mean())
    assert found.gain > 3.0
    assert 0.1 < found.logs.exp().item() < 0.6
    shuffled = y[torch.randperm(200, generator=generator)]
    assert (
        screened(GroupEffect("worker", workers.double()), identity, shuffled - y.mean()).gain < 1.0
    )


@pytest.mark.parametrize("effects", ["drift", 3, ["clock"], None])
def test_effects_are_named(effects):
    with pytest.raises(InvalidInput, match="`effects` is"):
        HyperparameterFit(effects=effects)


def test_effects_are_in_one_order():
    for names in itertools.permutations(["drift", "worker"]):
        assert HyperparameterFit(effects=names).effects == ("worker", "drift")

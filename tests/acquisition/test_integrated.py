"""Bounds that are integrated over the hyperparameters, and where the default uses them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import surefoot as sf
from surefoot.acquisition import Replication, UpperConfidenceBound
from surefoot.algorithms import robust_ucb
from surefoot.hyperparameters import HyperparameterFit
from surefoot.regression.observations import Pull

BOX = sf.Box([0.0, -1.0], [2.0, 1.0])
RNG = torch.Generator().manual_seed(0)
NEW = torch.tensor([[0.3, 0.2], [1.7, -0.9], [1.0, 0.9]], dtype=torch.float64)


def fitted(number: int = 14, **settings) -> sf.Optimizer:
    optimizer = robust_ucb(BOX, **settings)
    generator = torch.Generator().manual_seed(3)
    points = BOX.lower + BOX.span * torch.rand(number, 2, dtype=torch.float64, generator=generator)
    noise = torch.randn(number, dtype=torch.float64, generator=generator)
    rewards = torch.sin(3.0 * points[:, 0]) - points[:, 1].square() + 0.2 * noise
    optimizer.tell_all(points, rewards)
    return optimizer


def test_the_bound_is_that_of_the_mixture_over_samples_one_by_one():
    """Without microscale variation, which intervals allow for."""
    optimizer = fitted()
    belief = optimizer.belief()
    found = UpperConfidenceBound(integrated=True)(belief.candidates, RNG)(NEW)
    mixture = belief.outcome.uncertainty
    unit = (NEW - BOX.lower) / BOX.span
    given = [mode.given(*sample).at(unit) for mode, sample in mixture._samples]
    means = torch.stack([one.mean for one in given])
    second = torch.stack([one.variance + one.mean.square() for one in given])
    number = len(optimizer.history)
    variance = (second.mean(0) - means.mean(0).square()) * (number + 1.0) / (number - 1.0)
    fit, width = belief.outcome.fitted, optimizer.width
    expected = fit.center + fit.scale * (means.mean(0) + width * variance.sqrt())
    torch.testing.assert_close(found, expected)
    assert not torch.allclose(found, UpperConfidenceBound()(belief.candidates, RNG)(NEW), atol=1e-2)


def test_modes_of_kernels_of_different_smoothness_count_together():
    """The moments of batches, one for each kernel, are those of all samples one by one."""
    outcome = fitted().belief().outcome
    mixture, fit = outcome.uncertainty, outcome.fitted
    assert {mode.evidence.family.name for mode, _ in mixture._samples} > {"matern-5/2"}
    unit = (NEW - BOX.lower) / BOX.span
    shares = zip(mixture._samples, mixture.shares.tolist(), strict=True)
    given = [mode.given(*sample, share).at(unit) for (mode, sample), share in shares]
    means = torch.stack([one.mean for one in given])
    drawn = torch.stack([one.covariance for one in given]).mean(0)
    off = means - means.mean(0)
    expected = mixture.modes[0].inflation * (drawn + off.T @ off / len(off))
    found = outcome.integrated.joint(NEW)
    torch.testing.assert_close(found.mean, fit.center + fit.scale * means.mean(0))
    torch.testing.assert_close(found.covariance, fit.scale**2 * expected)
    torch.testing.assert_close(outcome.uncertainty.process.mean(NEW), found.mean)


def test_pending_pulls_count_as_rewards_that_are_the_means_of_each_process():
    """One by one: each process is that of more rewards, its own means, so that no mean changes."""
    belief = fitted().belief()
    mixture = belief.outcome.uncertainty.smooth
    pulls = [Pull(NEW[0], None, 1), Pull(NEW[1], None, 3), Pull(NEW[0], None, 1)]
    band = replace(belief.band, uncertainty=mixture)
    pending = band.with_pending(pulls).predictive
    means, variances = [], []
    unit = (NEW - BOX.lower) / BOX.span
    rows = [0, 1, 1, 1, 0]
    for mode, (model, weights) in mixture._samples:
        believed = mode.given(model, weights).at(unit[rows]).mean
        evidence = replace(
            mode.evidence,
            points=torch.cat([mode.evidence.points, unit[rows]]),
            rewards=torch.cat([mode.evidence.rewards, believed]),
            errors=torch.cat([mode.evidence.errors, torch.zeros_like(believed)]),
        )
        typical = torch.cat([weights, torch.ones(len(rows), dtype=torch.float64)])
        given = replace(mode, evidence=evidence).given(model, typical).at(unit)
        means.append(given.mean)
        variances.append(given.variance)
    spread = torch.stack(means).var(0, correction=0) + torch.stack(variances).mean(0)
    mean, deviation = pending.mean_and_deviation(NEW)
    torch.testing.assert_close(mean, band.predictive.mean(NEW))
    expected = mixture.frame.scale * (mixture.modes[0].inflation * spread).sqrt()
    torch.testing.assert_close(deviation, expected)
    before = band.predictive.mean_and_deviation(NEW)[1]
    assert bool((deviation[:2] < 0.9 * before[:2]).all())
    torch.testing.assert_close(pending.of_rewards.mean_and_deviation(NEW)[1], before)


@pytest.mark.long
def test_beyond_150_rewards_the_hyperparameters_are_taken_as_known():
    for number, same in ((150, False), (151, True)):
        belief = fitted(number).belief()
        bounds = [
            UpperConfidenceBound(integrated=on)(belief.candidates, RNG)(NEW) for on in (True, False)
        ]
        assert torch.equal(*bounds) == same


def test_a_given_kernel_has_nothing_to_integrate_over():
    optimizer = sf.algorithms.gp_ucb(BOX, sf.kernels.squared_exponential(0.5))
    optimizer.tell_all(NEW, torch.tensor([0.0, 1.0, 0.5], dtype=torch.float64))
    belief = optimizer.belief()
    bounds = [
        UpperConfidenceBound(integrated=on)(belief.candidates, RNG)(NEW) for on in (True, False)
    ]
    torch.testing.assert_close(*bounds)


@pytest.mark.parametrize(
    ("space", "risk", "integrated"),
    [
        (BOX, None, True),
        (sf.Box([0.0] * 16, [1.0] * 16), None, True),
        (sf.Box([0.0] * 17, [1.0] * 17), None, False),
        (sf.Arms([[0.0], [1.0]]), None, False),
        (sf.Joint(BOX, sf.FiniteEnvironment([[0.0], [1.0]])), sf.VaR(0.1), False),
    ],
)
def test_the_default_integrates_in_boxes_of_few_variables(space, risk, integrated):
    policy = robust_ucb(sf.Problem(space, risk=risk)).policy
    assert policy.score == UpperConfidenceBound(integrated=integrated)


def test_what_is_not_a_truth_value_is_refused():
    with pytest.raises(sf.InvalidInput, match="`integrated` is 1"):
        UpperConfidenceBound(integrated=1)


@pytest.mark.long
def test_queries_are_the_same_after_save_and_load(tmp_path):
    optimizer = fitted(policy=Replication(UpperConfidenceBound(integrated=True)))
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    assert loaded.policy == optimizer.policy
    assert len(loaded.belief().outcome.fitted.others) == 2
    assert torch.equal(optimizer.ask().point, loaded.ask().point)


@pytest.mark.long
def test_the_fit_keeps_the_optima_of_the_other_kernels():
    """So that they need not be found anew, and are where an ascent from the fit ends."""
    outcome = fitted().belief().outcome
    rule, data = outcome.model.hyperparameters, outcome.model.data(outcome.observations)
    assert isinstance(rule, HyperparameterFit)
    found = rule.fit(data)
    assert sorted(one.family for one in found.others) == ["matern-1/2", "matern-3/2"]
    kept, anew = (rule.uncertainty(one, data) for one in (found, replace(found, others=())))
    torch.testing.assert_close(kept.probabilities, anew.probabilities, rtol=0.0, atol=0.02)
    for left, right in zip(kept.modes, anew.modes, strict=True):
        assert left.bound == pytest.approx(right.bound, abs=0.05)
        assert left.evidence.family is right.evidence.family


@pytest.mark.long
def test_on_arms_the_bound_is_integrated_too():
    """Not that of the table, which is of the most likely hyperparameters."""
    optimizer = robust_ucb(sf.Arms(torch.rand(30, 2, dtype=torch.float64, generator=RNG)))
    optimizer.tell_all(list(range(12)), torch.randn(12, dtype=torch.float64, generator=RNG))
    belief = optimizer.belief()
    mean, deviation = belief.outcome.uncertainty.smooth.process.mean_and_deviation(
        belief.space.points
    )
    score = UpperConfidenceBound(integrated=True)(belief.candidates, RNG)
    torch.testing.assert_close(score(belief.space.points), mean + belief.band.width * deviation)


def test_a_mixture_of_one_process_is_the_exact_posterior():
    """Where hyperparameters are known and the noise is Gaussian, both models are the same one."""
    outcome = fitted().belief().outcome
    known = replace(outcome.fitted, dof=1e9, weights=torch.ones_like(outcome.fitted.weights))
    model = replace(outcome.model, hyperparameters=HyperparameterFit(dof=1e9))
    belief = model.belief(outcome.observations, known, torch.Generator())
    mode = belief.uncertainty.modes[0]
    process = mode.given(mode.model, mode.weights)
    at = process.at((NEW - BOX.lower) / BOX.span)
    mean, deviation = belief.posterior.mean_and_deviation(NEW)
    # The prior mean is that of the fit here, and estimated there.
    shifted = at.mean - process.shift * at.unknown_mean * process.inverse.sum().sqrt()
    torch.testing.assert_close(mean, known.center + known.scale * shifted, rtol=0.0, atol=1e-6)
    variance = at.variance - at.unknown_mean.square()
    torch.testing.assert_close(deviation, known.scale * variance.sqrt(), rtol=0.0, atol=1e-6)

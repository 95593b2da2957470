"""The BoTorch model, by BoTorch's conventions and test utilities, and against formulas."""

from __future__ import annotations

import copy
import io
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

pytest.importorskip("botorch")

from botorch.acquisition import (
    LogExpectedImprovement,
    qKnowledgeGradient,
    qLogNoisyExpectedImprovement,
)
from botorch.acquisition.max_value_entropy_search import qLowerBoundMaxValueEntropy
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.acquisition.objective import (
    ExpectationPosteriorTransform,
    ScalarizedPosteriorTransform,
)
from botorch.cross_validation import loo_cv
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP
from botorch.models.transforms import ChainedInputTransform, Normalize, Standardize, Warp
from botorch.models.transforms.input import AppendFeatures, InputPerturbation
from botorch.optim import optimize_acqf
from botorch.posteriors import GPyTorchPosterior, PosteriorList
from botorch.sampling import SobolQMCNormalSampler
from botorch.utils.datasets import SupervisedDataset
from botorch.utils.test_helpers import DummyNonScalarizingPosteriorTransform, get_sample_moments
from botorch.utils.testing import BotorchTestCase, get_random_data
from gpytorch.mlls import ExactMarginalLogLikelihood

import surefoot as sf
from surefoot.hyperparameters import HyperparameterFit
from surefoot.integrations.botorch import ChainPosterior, RobustGP
from surefoot.integrations.botorch.outcome_transform import ChainTransform
from surefoot.optimizer.serialization import to_tensor
from surefoot.types import InvalidInput

QUICK = HyperparameterFit(passes=1, steps=6)
WARPED = HyperparameterFit(passes=1, steps=6, warped=True)
UNIT = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)


def measured(number: int = 24, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Inputs, and outcomes of which the fourth is an outlier."""
    own = torch.Generator().manual_seed(seed)
    x = torch.rand(number, 2, dtype=torch.float64, generator=own)
    noise = 0.05 * torch.randn(number, 1, dtype=torch.float64, generator=own)
    y = torch.sin(5.0 * x[:, :1]) + x[:, 1:].square() + noise
    y[3] = 30.0
    return x, y


@cache
def fitted(outputs: int = 1) -> RobustGP:
    """A model that several tests look at."""
    x, y = measured()
    columns = [y, 3.0 - 2.0 * y][:outputs]
    return RobustGP(x, torch.cat(columns, -1), hyperparameters=QUICK)


def decades() -> tuple[Tensor, Tensor]:
    """Outcomes that span decades, of which a transformation is fitted."""
    x, _ = measured(30)
    own = torch.Generator().manual_seed(1)
    logs = -6.0 * (x - 0.4).square().sum(-1, keepdim=True) * 3.0
    return x, -(-logs + 0.1 * torch.randn(30, 1, dtype=torch.float64, generator=own)).exp()


@cache
def warped() -> RobustGP:
    """A model with a fitted transformation."""
    return RobustGP(*decades(), hyperparameters=WARPED)


# By BoTorch's utilities


class TestByBotorch(BotorchTestCase):
    def test_posteriors(self) -> None:
        for dtype, m in ((torch.float32, 1), (torch.float64, 2)):
            x, y = get_random_data(torch.Size(), m=m, d=2, n=10, dtype=dtype)
            model = RobustGP(x, y, hyperparameters=QUICK)
            assert (model.num_outputs, model.batch_shape) == (m, torch.Size())
            for shape in ((3, 2), (2, 3, 2), (4, 2, 3, 2)):
                X = torch.rand(shape, dtype=dtype)
                posterior = model.posterior(X)
                assert isinstance(posterior, GPyTorchPosterior)
                assert posterior.mean.shape == (*shape[:-1], m)
                assert posterior.variance.shape == (*shape[:-1], m)
                assert posterior.mean.dtype == dtype
                assert posterior.rsample(torch.Size([2])).shape == (2, *shape[:-1], m)
                noisy = model.posterior(X, observation_noise=True)
                assert bool((noisy.variance > posterior.variance).all())
                known = torch.full((*shape[:-1], m), 0.7, dtype=dtype)
                more = model.posterior(X, observation_noise=known).variance - posterior.variance
                self.assertAllClose(more, known, rtol=1e-3)
            transform = DummyNonScalarizingPosteriorTransform()
            expected = transform(posterior).mean
            self.assertAllClose(model.posterior(X, posterior_transform=transform).mean, expected)
            weights = torch.full((m,), 2.0, dtype=dtype)
            scalar = model.posterior(X, posterior_transform=ScalarizedPosteriorTransform(weights))
            self.assertAllClose(scalar.mean[..., 0], 2.0 * posterior.mean.sum(-1), rtol=1e-4)
            first = model.posterior(X, output_indices=[0])
            self.assertAllClose(first.mean, posterior.mean[..., :1])
            self.assertAllClose(model.subset_output([0]).posterior(X).mean, first.mean)
            self.assertAllClose(
                model.subset_output([m - 1]).posterior(X).variance, posterior.variance[..., -1:]
            )

    def test_samples_have_the_moments_of_the_posterior(self) -> None:
        shape, X = torch.Size([4000]), torch.rand(2, 2, dtype=torch.float64)
        posterior = fitted().posterior(X)
        mean, variance = get_sample_moments(posterior.rsample(shape), shape)
        self.assertAllClose(mean, posterior.mean, atol=0.1)
        self.assertAllClose(variance[..., 0], posterior.variance, rtol=0.1)

    def test_inputs_of_a_data_set(self) -> None:
        x, y = measured()
        names = {"feature_names": ["a", "b"], "outcome_names": ["y"]}
        data = SupervisedDataset(X=x, Y=y, Yvar=torch.full_like(y, 1e-4), **names)
        model = RobustGP(**RobustGP.construct_inputs(data), hyperparameters=QUICK)
        assert float(model.outlier_weights[3]) < 0.1

    @pytest.mark.long
    def test_fantasies(self) -> None:
        sampler = SobolQMCNormalSampler(torch.Size([3]), seed=0)
        for m in (1, 2):
            model = fitted(m)
            for shape in ((2,), (4, 2)):
                X = torch.rand(*shape, 2, dtype=torch.float64)
                fantasies = model.fantasize(X, sampler)
                assert fantasies.batch_shape == (3, *shape[:-1])
                posterior = fantasies.posterior(X)
                assert posterior.mean.shape == (3, *shape, m)
                before = model.posterior(X).variance
                assert bool((posterior.variance < before + 1e-09).all())
            none = model.fantasize(torch.rand(4, 0, 2, dtype=torch.float64), sampler)
            assert none.batch_shape == (3, 4)


# Against formulas


def conditional(model: RobustGP, points: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and covariance given noisy values, by the textbook (Rasmussen, eq. 2.23)."""
    fit, law = model.fits[0], model.posterior(torch.cat([x, points])).distribution
    mean, covariance, n = law.mean, law.covariance_matrix, len(x)
    noise = fit.scale**2 * fit.noise * torch.eye(n, dtype=torch.float64)
    gain = covariance[n:, :n] @ (covariance[:n, :n] + noise).inverse()
    return mean[n:] + gain @ (y - mean[:n]), covariance[n:, n:] - gain @ covariance[:n, n:]


def test_the_posterior_has_the_moments_of_draws_over_the_hyperparameters() -> None:
    posterior, belief = fitted().posterior(UNIT), fitted().beliefs[0]
    draws = belief.draws(UNIT, 16_000)
    torch.testing.assert_close(posterior.mean[:, 0], draws.mean(-1), atol=0.03, rtol=0.0)
    found = posterior.distribution.covariance_matrix
    torch.testing.assert_close(found, torch.cov(draws), atol=0.05, rtol=0.05)
    plain = belief.posterior.joint(UNIT.unsqueeze(0)).covariance[0].diagonal()
    assert bool((found.diagonal() > 1.1 * plain).all())
    each = fitted().posterior(UNIT.unsqueeze(-2))  # one point alone, by another formula
    torch.testing.assert_close(each.mean[:, 0], posterior.mean)
    torch.testing.assert_close(each.variance[:, 0], posterior.variance, rtol=1e-6, atol=0.0)


def test_conditioning_adds_measurements_with_the_noise_of_inliers() -> None:
    own = torch.Generator().manual_seed(3)
    points = torch.rand(4, 2, dtype=torch.float64, generator=own)
    x = torch.rand(3, 2, dtype=torch.float64, generator=own)
    y = torch.tensor([0.4, 1.0, 0.2], dtype=torch.float64)
    conditioned = fitted().condition_on_observations(x[:2], y[:2, None])
    twice = conditioned.condition_on_observations(x[2:], y[2:, None])
    mean, covariance = conditional(fitted(), points, x, y)
    posterior = twice.posterior(points)
    torch.testing.assert_close(posterior.mean[:, 0], mean, atol=1e-6, rtol=1e-5)
    found = posterior.distribution.covariance_matrix
    torch.testing.assert_close(found, covariance, atol=1e-7, rtol=1e-5)
    fit = fitted().fits[0]
    known = torch.full((3, 1), fit.noise * fit.scale**2, dtype=torch.float64)
    same = fitted().condition_on_observations(x, y[:, None], noise=known).posterior(points)
    torch.testing.assert_close(same.mean, posterior.mean)


def test_batches_of_measurements_are_conditioned_each_alone() -> None:
    own = torch.Generator().manual_seed(4)
    x = torch.rand(3, 2, 2, dtype=torch.float64, generator=own)
    y = torch.rand(5, 3, 2, 1, dtype=torch.float64, generator=own)
    points = torch.rand(3, 4, 2, dtype=torch.float64, generator=own)
    whole = fitted().condition_on_observations(x, y).posterior(points)
    assert whole.mean.shape == (5, 3, 4, 1)
    one = fitted().condition_on_observations(x[1], y[2, 1]).posterior(points[1])
    torch.testing.assert_close(whole.mean[2, 1], one.mean)
    torch.testing.assert_close(whole.variance[2, 1], one.variance)


@pytest.mark.long
@pytest.mark.parametrize("model", [fitted, warped])
def test_samples_are_differentiable_in_the_inputs(model: Any) -> None:
    at = torch.tensor([[0.2, 0.7], [0.6, 0.3]], dtype=torch.float64, requires_grad=True)

    def sample(points: Tensor) -> Tensor:
        posterior = model().posterior(points)
        base = torch.full((1, *posterior.base_sample_shape), 0.7, dtype=torch.float64)
        return posterior.rsample_from_base_samples(torch.Size([1]), base)

    assert torch.autograd.gradcheck(sample, (at,), eps=1e-4, atol=1e-3, rtol=1e-2)


def test_known_variances_add_to_the_noise() -> None:
    x, y = measured()
    variances = torch.full_like(y, 1e-6)
    variances[:12] = 4.0
    model = RobustGP(x, y, variances, hyperparameters=QUICK)
    own = model.posterior(x).variance[:, 0]
    assert float(own[12:].median()) < float(own[:12].median())


@pytest.mark.long
@pytest.mark.parametrize("kind", ["", "Standardize", "warped", "two"])
def test_further_measurements_have_the_mean_of_the_known_variances(kind: str) -> None:
    x, y = decades() if kind == "warped" else measured()
    y = torch.cat([y, 3.0 - 2.0 * y], -1) if kind == "two" else y
    deviation = 0.1 * y.abs().median()
    options: Any = {"hyperparameters": WARPED if kind == "warped" else QUICK}
    if kind == "Standardize":
        options["outcome_transform"] = Standardize(1)
    model = RobustGP(x, y, (deviation**2).expand_as(y).clone(), **options)
    shape = (1, y.shape[-1])
    _, known = model.outcome_transform(y, (deviation**2).expand_as(y))
    assert known is not None
    noise = known.mean(0) + torch.tensor([one.noise for one in model.fits], dtype=torch.float64)
    torch.testing.assert_close(model.likelihood.noise.flatten(), noise)
    fits = ChainTransform([one.units.chain for one in model.fits])

    def in_units(outcome: Tensor) -> Tensor:  # after the transform that was given
        variances: Tensor = fits.untransform(fits(outcome)[0], noise.reshape(shape))[1]  # type: ignore[assignment]
        return variances

    found = model.posterior(UNIT[:1], observation_noise=True)
    added = found.variance - model.posterior(UNIT[:1]).variance
    known = added if kind == "warped" else in_units(y[:1])
    given = model.posterior(UNIT[:1], observation_noise=known)
    torch.testing.assert_close(found.variance, given.variance)
    torch.testing.assert_close(found.mean, given.mean)
    value = y.median(0).values.reshape(shape)
    own = model.condition_on_observations(UNIT[:1], value, noise=in_units(value))
    usual = model.condition_on_observations(UNIT[:1], value)
    torch.testing.assert_close(usual.posterior(UNIT).variance, own.posterior(UNIT).variance)
    sampler = SobolQMCNormalSampler(torch.Size([4]), seed=0)
    fantasies = model.fantasize(UNIT[:1], sampler)
    assert float((fantasies._further[0].noise - noise).abs().max()) < 1e-9
    if kind == "two":
        part = model.subset_output([1]).posterior(UNIT[:1], observation_noise=True)
        torch.testing.assert_close(part.variance, found.variance[..., 1:])


def test_predictive_intervals_hold_measurements_with_the_known_noise() -> None:
    own = torch.Generator().manual_seed(5)
    x = torch.rand(240, 2, dtype=torch.float64, generator=own)
    y = torch.sin(5.0 * x[:, :1]) + x[:, 1:].square()
    y = y + 0.3 * torch.randn(240, 1, dtype=torch.float64, generator=own)
    model = RobustGP(x[:40], y[:40], torch.full((40, 1), 0.09), hyperparameters=QUICK)
    posterior = model.posterior(x[40:], observation_noise=True)
    error = (y[40:] - posterior.mean).abs() / posterior.variance.sqrt()
    assert 0.9 < float((error < 1.96).double().mean()) <= 1.0


# The fitted transformation


def test_a_fitted_transformation_maps_quantiles_exactly() -> None:
    model, points = warped(), UNIT
    assert not model.outcome_transform._is_linear
    posterior = model.posterior(points)
    assert isinstance(posterior, ChainPosterior)
    normal = model.beliefs[0].outcome.integrated.joint(points)
    for share in (0.1, 0.5, 0.9):
        level = torch.tensor(share, dtype=torch.float64)
        deviation = normal.covariance.diagonal().sqrt()
        ends = normal.mean + deviation * torch.special.ndtri(level)
        expected = model.fits[0].warp.inverse(ends)
        torch.testing.assert_close(posterior.quantile(level)[:, 0], expected, rtol=1e-5, atol=0.0)
    draws = posterior.rsample(torch.Size([40_000]))
    torch.testing.assert_close(draws.mean(0), posterior.mean, rtol=0.1, atol=0.0)
    middle = posterior.quantile(torch.tensor(0.5, dtype=torch.float64))
    torch.testing.assert_close(draws.median(0).values, middle, rtol=0.05, atol=0.0)
    value = middle[0, 0]
    step = 1e-4 * value.abs()
    ends = model.outcome_transform(torch.stack([value - step, value + step]))[0]
    normal = posterior._posterior.distribution
    law = torch.distributions.Normal(normal.mean[0], normal.variance[0].sqrt())
    share = law.cdf(ends[1]) - law.cdf(ends[0])  # of a small interval about the median
    for values in (value, torch.stack([value, value])):
        found = 2.0 * step * posterior.density(values).reshape(-1, 2)[-1, 0]
        torch.testing.assert_close(found, share, rtol=1e-4, atol=0.0)


@pytest.mark.parametrize(("weight", "offset"), [(1e6, 0.0), (-0.5, 3.0)])
def test_a_weighted_outcome_has_the_exact_posterior_of_its_values(
    weight: float, offset: float
) -> None:
    model = warped()
    weights = torch.tensor([weight], dtype=torch.float64)
    transform = ScalarizedPosteriorTransform(weights, offset)
    plain = model.posterior(UNIT)
    found = model.posterior(UNIT, posterior_transform=transform)
    torch.testing.assert_close(found.mean, offset + weight * plain.mean)
    torch.testing.assert_close(found.variance, weight**2 * plain.variance)
    base = torch.full((1, *plain.base_sample_shape), 0.7, dtype=torch.float64)
    draws = (one.rsample_from_base_samples(torch.Size([1]), base) for one in (found, plain))
    first, second = draws
    torch.testing.assert_close(first, offset + weight * second)
    level = torch.tensor(0.2, dtype=torch.float64)
    opposite = 1.0 - level if weight < 0.0 else level
    expected = offset + weight * plain.quantile(opposite)
    torch.testing.assert_close(found.quantile(level), expected, rtol=1e-4, atol=1e-4)
    value = plain.quantile(level)[0, 0]
    torch.testing.assert_close(
        found.density(offset + weight * value), plain.density(value) / abs(weight)
    )
    for function in (
        LogExpectedImprovement(model, best_f=0.0, posterior_transform=transform),
        qLogNoisyExpectedImprovement(model, X_baseline=UNIT, posterior_transform=transform),
    ):
        assert bool(function(UNIT.unsqueeze(-2) + 0.1).isfinite().all())


def test_a_posterior_transform_that_needs_a_gaussian_says_what_to_do() -> None:
    two = RobustGP(decades()[0], decades()[1].repeat(1, 2), hyperparameters=WARPED)
    weights = torch.ones(2, dtype=torch.float64)
    for model, transform in (
        (warped(), ExpectationPosteriorTransform(2)),
        (two, ScalarizedPosteriorTransform(weights)),
    ):
        with pytest.raises(InvalidInput, match="is not affine: pass an `objective`"):
            model.posterior(UNIT, posterior_transform=transform)
    with pytest.raises(NotImplementedError):  # no matter of the model's
        fitted().posterior(UNIT, posterior_transform=_none)


def _none(*_: Any, **__: Any) -> Any:
    raise NotImplementedError


def test_outcomes_go_to_standardised_units_and_back() -> None:
    model, (_, y) = warped(), decades()
    values, variances = model.outcome_transform(y, torch.full_like(y, 0.01))
    back, again = model.outcome_transform.untransform(values, variances)
    torch.testing.assert_close(back, y)
    torch.testing.assert_close(again, torch.full_like(y, 0.01))
    torch.testing.assert_close(model.train_targets, values[:, 0])


@pytest.mark.long
def test_a_list_with_a_transformed_model_has_a_list_of_posteriors() -> None:
    x, _ = decades()
    posterior = ModelListGP(fitted(), warped()).posterior(x[:3])
    assert isinstance(posterior, PosteriorList)
    torch.testing.assert_close(posterior.mean[..., 1:], warped().posterior(x[:3]).mean)


def test_outcomes_with_a_fitted_transformation_are_sampled_together() -> None:
    x, y = decades()
    both = RobustGP(x, torch.cat([y, measured(30)[1]], -1), hyperparameters=WARPED)
    points, posterior = x[:3] + 0.01, both.posterior(x[:3] + 0.01)
    sampler = SobolQMCNormalSampler(torch.Size([4096]), seed=0)
    torch.testing.assert_close(sampler(posterior).mean(0), posterior.mean, rtol=0.02, atol=0.0)
    shares = torch.tensor([0.1, 0.5], dtype=torch.float64)
    for output in (0, 1):
        alone = both.subset_output([output]).posterior(points)
        for name in ("mean", "variance"):
            ours, own = (getattr(one, name) for one in (posterior, alone))
            torch.testing.assert_close(ours[:, output], own[:, 0])
        ours, own = posterior.quantile(shares), alone.quantile(shares)
        torch.testing.assert_close(ours[..., output], own[..., 0])
        values = own[:, 0, 0]
        ours, own = posterior.density(values), alone.density(values)
        torch.testing.assert_close(ours[..., output], own[..., 0])
    fantasy = both.fantasize(points, SobolQMCNormalSampler(torch.Size([2]), seed=0))
    assert fantasy.posterior(points).mean.shape == (2, 3, 2)
    data = torch.cat([y, measured(30)[1]], -1)
    scaled = RobustGP(x, data, outcome_transform=Standardize(m=2), hyperparameters=WARPED)
    reference = torch.tensor([-50.0, -1.0], dtype=torch.float64)
    gain = qLogNoisyExpectedHypervolumeImprovement(scaled, reference, x)
    assert gain(points[None]).isfinite().all()


def test_an_outcome_transform_of_the_user_comes_before_the_fitted_one() -> None:
    x, y = measured()
    alone = fitted().posterior(UNIT)
    model = RobustGP(x, y, outcome_transform=Standardize(m=1), hyperparameters=QUICK)
    posterior = model.posterior(UNIT)
    torch.testing.assert_close(posterior.mean, alone.mean, rtol=1e-2, atol=1e-2)
    more = model.condition_on_observations(UNIT, torch.zeros(2, 1, dtype=torch.float64))
    assert float(more.posterior(UNIT).mean.abs().max()) < float(posterior.mean.abs().max())


def test_an_input_transform_changes_nothing_but_the_scale() -> None:
    x, y = measured()
    scaled = RobustGP(
        1000.0 * x, y, input_transform=Normalize(2, bounds=1000.0 * UNIT), hyperparameters=QUICK
    )
    torch.testing.assert_close(
        scaled.posterior(1000.0 * UNIT).mean, fitted().posterior(UNIT).mean, rtol=1e-5, atol=1e-6
    )
    at = 1000.0 * UNIT[1:]
    more = scaled.condition_on_observations(at, torch.zeros(1, 1, dtype=torch.float64))
    assert float(more.posterior(at).variance) < float(scaled.posterior(at).variance)


def test_inputs_need_no_scale() -> None:
    x, y = measured()
    large = RobustGP(1e4 * x - 7.0, y, hyperparameters=QUICK)
    torch.testing.assert_close(
        large.posterior(1e4 * UNIT - 7.0).mean, fitted().posterior(UNIT).mean, rtol=1e-4, atol=1e-4
    )


# Integration over the hyperparameters


@pytest.mark.long
@pytest.mark.parametrize("kind", [torch.int64, torch.int32, torch.uint8, torch.bool])
def test_whole_numbers_are_inputs_like_others(kind: torch.dtype) -> None:
    points = torch.tensor([[0, 1], [1, 0], [1, 1], [0, 0], [1, 1]]).to(kind)
    outcomes = torch.tensor([[0.3], [1.2], [2.1], [0.4], [1.9]], dtype=torch.float64)
    whole, real = RobustGP(points, outcomes), RobustGP(points.double(), outcomes)
    further = torch.ones(1, 1, dtype=torch.int64)
    for one, other in (
        (whole, real),
        (whole.condition_on_observations(points[:1], further),) * 2,
    ):
        answer, expected = one.posterior(points[:3]), other.posterior(points[:3].double())
        assert torch.equal(answer.mean, expected.mean)
        assert torch.equal(answer.variance, expected.variance)


# State


def restored(state: Any, model: RobustGP) -> RobustGP:
    """A model after a state that went through a file, which is read without code."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    buffer.seek(0)
    model.load_state_dict(torch.load(buffer, weights_only=True))
    return model


def test_a_state_gives_the_same_posterior_without_a_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    model, (x, y) = fitted(2), measured()
    state, before = model.state_dict(), model.posterior(UNIT)

    def fit(*_: Any) -> None:
        raise AssertionError("fitted again")

    monkeypatch.setattr(HyperparameterFit, "fit", fit)
    fresh = RobustGP(x, torch.cat([y, 3.0 - 2.0 * y], -1), hyperparameters=QUICK)
    after = restored(state, fresh).posterior(UNIT)
    assert torch.equal(after.mean, before.mean)
    assert torch.equal(after.variance, before.variance)


def test_a_state_of_fewer_data_lasts_until_the_fit() -> None:
    x, y = measured()
    few = RobustGP(x[:16], y[:16], hyperparameters=QUICK)
    model = restored(few.state_dict(), RobustGP(x, y, hyperparameters=QUICK))
    assert model.fits[0].noise == few.fits[0].noise
    assert len(model.outlier_weights) == 24
    assert float(model.outlier_weights[3]) < 0.1
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    assert len(model.fits[0].weights) == 24
    torch.testing.assert_close(model.posterior(UNIT).mean, fitted().posterior(UNIT).mean)


@pytest.mark.parametrize(
    "change",
    [lambda x, y: (x[:, :1], y), lambda x, y: (x, y.repeat(1, 2))],
    ids=["fewer inputs", "more outcomes"],
)
def test_a_state_of_other_inputs_or_outcomes_is_refused(change: Any) -> None:
    model = RobustGP(*change(*measured()), hyperparameters=QUICK)
    with pytest.raises(InvalidInput, match="model of the same inputs and outcomes"):
        model.set_extra_state(fitted().get_extra_state())


# Loaded into a model of other data, and how many of the first weights are kept.
OTHER_DATA = {
    "more": (slice(0, 16), slice(0, 24), 16),
    "fewer, the first": (slice(0, 24), slice(0, 15), 0),
    "fewer, without the first": (slice(0, 24), slice(1, 24), 0),
    "as many others": (slice(0, 16), slice(8, 24), 0),
    "the same": (slice(0, 16), slice(0, 16), 16),
}


@pytest.mark.long
@pytest.mark.parametrize("name", OTHER_DATA)
def test_a_state_of_other_data_has_their_hyperparameters_and_no_weights_of_theirs(
    name: str,
) -> None:
    before, after, kept = OTHER_DATA[name]
    x, y = measured()
    y[10] = -40.0
    options: Any = {"hyperparameters": QUICK}
    first = RobustGP(x[before], y[before], **options)
    model = restored(first.state_dict(), RobustGP(x[after], y[after], **options))
    assert model.fits[0].noise == first.fits[0].noise
    assert len(model.fits[0].weights) == kept
    outliers = y[after, 0].abs() > 20.0
    weights = model.outlier_weights[:, 0]
    assert float(weights[outliers].max()) < 0.1
    assert float(weights[~outliers].median()) > 0.8
    again = restored(model.state_dict(), RobustGP(x[after], y[after], **options))
    torch.testing.assert_close(again.posterior(UNIT).mean, model.posterior(UNIT).mean)
    own = RobustGP(x[after], y[after], **options)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    torch.testing.assert_close(model.posterior(UNIT).mean, own.posterior(UNIT).mean)


def test_a_state_of_more_data_has_components_by_all_weights() -> None:
    x, y = measured()
    few = RobustGP(x[1:], y[1:], hyperparameters=QUICK)
    few.set_extra_state(fitted().get_extra_state())
    mixture: Any = few.beliefs[0].outcome.uncertainty
    weights = mixture.modes[0].weights.clamp_max(1.0)
    torch.testing.assert_close(weights, few.outlier_weights[:, 0], atol=0.1, rtol=0.0)


INPUTS = {"": lambda: None, "Normalize": lambda: Normalize(2)}
OUTCOMES = {"": lambda: None, "Standardize": lambda: Standardize(1)}


@pytest.mark.long
@pytest.mark.parametrize("outcomes", OUTCOMES)
@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("door", ["load_state_dict", "in a list", "in a likelihood"])
def test_data_follow_the_transforms_of_a_state(inputs: str, outcomes: str, door: str) -> None:
    x, y = measured()
    order = x[:, 0].argsort()
    x, y = x[order], 100.0 * y[order] + 5.0

    def model(number: int) -> RobustGP:
        transforms = {
            "input_transform": INPUTS[inputs](),
            "outcome_transform": OUTCOMES[outcomes](),
        }
        return RobustGP(x[:number], y[:number], **transforms, hyperparameters=QUICK)

    first, later = model(16), model(24)
    if door == "load_state_dict":
        later.load_state_dict(first.state_dict())
    elif door == "in a list":
        ModelListGP(later).load_state_dict(ModelListGP(first).state_dict())
    else:
        state = ExactMarginalLogLikelihood(first.likelihood, first).state_dict()
        ExactMarginalLogLikelihood(later.likelihood, later).load_state_dict(state)
    small = first.posterior(x[:12]).mean
    torch.testing.assert_close(later.posterior(x[:12]).mean, small, atol=15.0, rtol=0.0)
    usual = (y - y.median()).abs() < 500.0
    error = (later.posterior(x).mean - y)[usual].abs().median()
    assert float(error) < 15.0
    fit_gpytorch_mll(ExactMarginalLogLikelihood(later.likelihood, later))
    expected = RobustGP(x, y, hyperparameters=QUICK).posterior(x)
    assert float((later.posterior(x).mean - expected.mean).abs().median()) < 10.0


def test_transforms_of_the_model_stay_where_those_of_a_state_are_not_kept() -> None:
    x, y = measured()
    first, later = (
        RobustGP(x[:n], y[:n], input_transform=Normalize(2), hyperparameters=QUICK)
        for n in (12, 24)
    )
    own = later.transform_inputs(UNIT)
    later.load_state_dict(first.state_dict(), keep_transforms=False)
    torch.testing.assert_close(later.transform_inputs(UNIT), own)
    torch.testing.assert_close(later.train_inputs[0], later.transform_inputs(x))
    assert later.fits[0].noise == first.fits[0].noise


def test_a_conditioned_model_takes_no_state() -> None:
    model = fitted().condition_on_observations(UNIT, torch.zeros(2, 1, dtype=torch.float64))
    with pytest.raises(InvalidInput, match="then condition"):
        model.load_state_dict(fitted().state_dict())


# Transforms that are given


@pytest.mark.long
@pytest.mark.parametrize(
    ("transform", "columns"),
    [
        (lambda: Normalize(2), 2),
        (lambda: InputPerturbation(0.05 * torch.ones(3, 2, dtype=torch.float64)), 2),
        (lambda: AppendFeatures(torch.tensor([[0.2], [0.8]], dtype=torch.float64)), 1),
    ],
    ids=["Normalize", "InputPerturbation", "AppendFeatures"],
)
def test_one_transform_serves_several_models(transform: Any, columns: int) -> None:
    x, y = measured()
    shared = transform()
    models = [
        RobustGP(scale * x, y, input_transform=shared, hyperparameters=QUICK)
        for scale in (1.0, 4.0)
    ]
    for scale, model in zip((1.0, 4.0), models, strict=True):
        alone = RobustGP(scale * x, y, input_transform=transform(), hyperparameters=QUICK)
        at = scale * UNIT[:, :columns]
        torch.testing.assert_close(model.posterior(at).mean, alone.posterior(at).mean)


@pytest.mark.long
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_one_transform_of_outcomes_serves_several_models(shift: float) -> None:
    x, y = measured()
    shared = Standardize(1)
    first = RobustGP(x, y, outcome_transform=shared, hyperparameters=QUICK)
    before = first.posterior(UNIT).mean
    second = RobustGP(x, y + shift, outcome_transform=shared, hyperparameters=QUICK)
    torch.testing.assert_close(second.posterior(UNIT).mean, before + shift, atol=1e-3, rtol=1e-3)
    assert torch.equal(first.posterior(UNIT).mean, before)


def test_transforms_with_parameters_to_fit_are_refused() -> None:
    x, y = measured()
    warp = Warp(d=2, indices=[0], eps=1e-4)
    for transform in (warp, ChainedInputTransform(scaled=Normalize(2), warped=warp)):
        with pytest.raises(InvalidInput, match=r"concentration1.*requires_grad_\(False\)"):
            RobustGP(x, y, input_transform=transform)
        known = copy.deepcopy(transform).requires_grad_(False)
        model = RobustGP(x, y, input_transform=known, hyperparameters=QUICK)
        assert bool(model.posterior(UNIT).mean.isfinite().all())


def test_a_state_that_is_none_is_refused() -> None:
    others = torch.zeros(4, dtype=torch.uint8), "text", torch.zeros(0), to_tensor([1.0, 2.0])
    for state in others:
        with pytest.raises(InvalidInput, match="the state is none"):
            RobustGP(*measured(), hyperparameters=QUICK).set_extra_state(state)


def test_copies_have_the_same_posterior() -> None:
    for model in (fitted(), warped()):
        one = model.condition_on_observations(UNIT[:1], torch.zeros(1, 1, dtype=torch.float64))
        before = one.posterior(UNIT).mean
        assert torch.equal(copy.deepcopy(one).posterior(UNIT).mean, before)
        other = copy.deepcopy(one).to(torch.float32)
        found = other.posterior(UNIT.float())
        assert found.mean.dtype == torch.float32
        torch.testing.assert_close(found.mean.double(), before, rtol=1e-3, atol=1e-3)
        assert torch.equal(one.posterior(UNIT).mean, before)


def test_a_look_at_a_belief() -> None:
    belief = fitted().beliefs[0]
    value, lower, upper = belief.predict(UNIT[:1] + 0.5)
    assert float(lower) < float(value) < float(upper)


# Bad input

GOOD_X, GOOD_Y = measured(6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((GOOD_X, GOOD_Y[:, 0]), r"`train_Y` is of shape \(6,\)"),
        ((GOOD_X.unsqueeze(0), GOOD_Y), r"`train_X` is of shape \(1, 6, 2\)"),
        ((GOOD_X, GOOD_Y[:4]), "6 rows and `train_Y` 4"),
        ((GOOD_X, GOOD_Y, GOOD_Y[:, :0]), "`train_Yvar` is of shape"),
        ((GOOD_X, GOOD_Y, -torch.ones_like(GOOD_Y)), "`train_Yvar` is -1"),
        ((GOOD_X, GOOD_Y * torch.nan), "`train_Y` is nan in row 0"),
        ((GOOD_X[:0], GOOD_Y[:0]), r"`train_X` is of shape \(0, 2\)"),
        (([[1.0]], GOOD_Y), "`train_X` is of type list"),
        ((GOOD_X.numpy(), GOOD_Y), "`train_X` is of type ndarray, expected a tensor"),
    ],
)
def test_data_that_do_not_go_together(given: tuple, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        RobustGP(*given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": UNIT.flip(0)}, "`bounds` is"),
        ({"bounds": [0.0, 1.0]}, "expected lower and upper bounds"),
        ({"hyperparameters": "robust"}, "`hyperparameters` is"),
    ],
)
def test_options_that_are_none(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        RobustGP(GOOD_X, GOOD_Y, **options)


def test_inputs_and_outcomes_of_other_shapes_are_refused() -> None:
    model = fitted()
    for inputs in (UNIT[:, :1], UNIT[0]):
        with pytest.raises(InvalidInput, match=r"expected \(..., q, 2\)"):
            model.posterior(inputs)
    for outcomes in (torch.zeros(2), torch.zeros(3, 1), torch.zeros(2, 2)):
        with pytest.raises(InvalidInput, match=r"`Y` is of shape"):
            model.condition_on_observations(UNIT, outcomes)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_inputs_and_outcomes_that_are_not_finite_are_refused(value: float) -> None:
    bad = UNIT.clone()
    bad[1, 0] = value
    good = torch.zeros(2, 1, dtype=torch.float64)
    for model in (fitted(), warped()):
        with pytest.raises(InvalidInput, match=f"`X` is {value} in row 1"):
            model.posterior(bad)
        with pytest.raises(InvalidInput, match=f"`X` is {value} in row 1"):
            model.condition_on_observations(bad, good)
        with pytest.raises(InvalidInput, match=f"`Y` is {value} in row 1"):
            model.condition_on_observations(UNIT, bad[:, :1])
        with pytest.raises(InvalidInput, match=f"`Y` is {value} in row 1"):
            ModelListGP(model).condition_on_observations([UNIT], bad[:, :1])
        with pytest.raises(InvalidInput, match=f"`noise` is {value} in row 1"):
            model.condition_on_observations(UNIT, good, noise=bad[:, :1])


def constructed(*given: Tensor) -> RobustGP:
    return RobustGP(*given, hyperparameters=QUICK)  # type: ignore[arg-type]


def bounded(bounds: Tensor) -> RobustGP:
    return RobustGP(*measured(), bounds=bounds, hyperparameters=QUICK)


def conditioned(*given: Tensor) -> RobustGP:
    return fitted().condition_on_observations(*given)


def of_targets(*given: Tensor) -> RobustGP:
    return fitted().get_fantasy_model(*given)


CALLS: dict[str, tuple[Any, tuple[Tensor, ...]]] = {
    "constructed": (constructed, (*measured(), torch.full((24, 1), 0.01).double())),
    "bounded": (bounded, (3.0 * UNIT - 1.0,)),
    "conditioned": (conditioned, (0.5 * UNIT, UNIT[:, :1], 0.1 + UNIT[:, :1])),
    "of targets": (of_targets, (0.5 * UNIT, UNIT[:, 0], 0.1 + UNIT[:, 0])),
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "changed"),
    [(name, i) for name, (_, given) in CALLS.items() for i in range(len(given))],
)
def test_later_changes_of_what_was_passed_change_nothing(name: str, changed: int) -> None:
    make, given = CALLS[name]
    expected = make(*given).posterior(0.3 + UNIT)
    own = [one.clone() for one in given]
    model = make(*own)  # which is fitted, or conditioned, when it is first asked
    own[changed].mul_(7.0).add_(1.0)
    found = model.posterior(0.3 + UNIT)
    assert torch.equal(found.mean, expected.mean)
    assert torch.equal(found.variance, expected.variance)


@pytest.mark.daily(1)
@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-101, 1e101, 1e155, 1e300])
def test_outcomes_whose_squares_are_no_numbers_are_refused(scale: float) -> None:
    x, y = measured()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*varies by only")
        with pytest.raises(InvalidInput, match=r"in a (smaller|larger) unit"):
            constructed(x, scale * y).posterior(UNIT)


@pytest.mark.daily(3)
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2), (0, 0)])
def test_no_points_have_an_empty_posterior(shape: tuple[int, ...]) -> None:
    points = torch.zeros(*shape, 2, dtype=torch.float64)
    given = fitted().condition_on_observations(UNIT, torch.zeros(2, 1, dtype=torch.float64))
    for model in (fitted(), given, warped()):
        posterior = model.posterior(points, observation_noise=True)
        expected = (*shape, 1)
        assert posterior.mean.shape == posterior.variance.shape == expected
        assert posterior.rsample(torch.Size([5])).shape == (5, *expected)
    if 0 not in shape[:-1]:  # of which GPyTorch makes no law of several outcomes
        two = fitted(outputs=2).posterior(points)
        assert two.mean.shape == two.variance.shape == (*shape, 2)


def test_tools_that_need_a_gpytorch_model_say_what_to_use_instead() -> None:
    gibbon = qLowerBoundMaxValueEntropy(fitted(), UNIT, X_pending=UNIT[:1])
    tools: list[Any] = [
        lambda: fitted()(UNIT),
        lambda: loo_cv(fitted()),
        lambda: gibbon(UNIT.unsqueeze(-2)),
    ]
    for tool in tools:
        with pytest.raises(InvalidInput, match=r"call `model.posterior\(X\)`"):
            tool()


# In use


@pytest.mark.long
@pytest.mark.parametrize("model", [fitted, warped])
def test_acquisition_functions_are_optimised(model: Any) -> None:
    x, _ = measured()
    functions = [
        (LogExpectedImprovement(model(), best_f=1.5), 1),
        (qLogNoisyExpectedImprovement(model(), X_baseline=x[:12]), 2),
        (qKnowledgeGradient(model(), num_fantasies=4), 1),
    ]
    for acquisition, q in functions:
        options = {"num_restarts": 2, "raw_samples": 8, "options": {"maxiter": 8}}
        found, value = optimize_acqf(acquisition, UNIT, q=q, **options)
        assert found.shape == (q, 2)
        assert bool(value.isfinite())


@pytest.mark.long
def test_beyond_the_size_of_the_dictionary_points_are_inducing_ones() -> None:
    own = torch.Generator().manual_seed(6)
    x = torch.rand(1100, 1, dtype=torch.float64, generator=own)
    truth = torch.sin(12.0 * x)
    y = truth + 0.1 * torch.randn(1100, 1, dtype=torch.float64, generator=own)
    y[::20] += 20.0
    model = RobustGP(x, y, hyperparameters=QUICK)
    assert model.beliefs[0].posterior.embedding.dimension <= 1024
    assert float((model.posterior(x).mean - truth).square().mean().sqrt()) < 0.05
    assert float(model.outlier_weights[::20].max()) < 0.1


def run_with_one_line_changed(name: str) -> dict[str, Any]:
    """Names of a script after it has run with this model in place of BoTorch's."""
    text = (Path(__file__).parent / name).read_text()
    before = "from botorch.models.gp_regression import SingleTaskGP\n"
    after = "from surefoot.integrations.botorch import RobustGP as SingleTaskGP\n"
    assert text.count(before) == 1
    names: dict[str, Any] = {}
    exec(text.replace(before, after), names)
    return names


@pytest.mark.long
def test_a_closed_loop_with_one_line_changed() -> None:
    names = run_with_one_line_changed("closed_loop.py")
    assert names["regret"] < 10.0
    assert float(names["model"].outlier_weights[4]) < 0.1


@pytest.mark.long
def test_two_objectives_with_one_line_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Otherwise it is compiled, and a process that is killed meanwhile leaves a lock to wait for.
    kernel = "botorch.acquisition.multi_objective.logei._load_attempted"
    monkeypatch.setattr(kernel, True)
    names = run_with_one_line_changed("two_objectives.py")
    assert names["candidates"].shape == (2, 2)
    assert bool(names["value"].isfinite())
    assert all(isinstance(one, RobustGP) for one in names["models"])


@pytest.mark.long
def test_the_model_is_that_of_the_default_algorithm() -> None:
    x, y = measured(14)
    model = RobustGP(x, y, bounds=UNIT)
    optimizer = sf.algorithms.robust_ucb(sf.Box(*UNIT))
    optimizer.tell_all(x, y[:, 0])
    expected = optimizer.belief()
    torch.testing.assert_close(
        model.beliefs[0].predict(UNIT), expected.predict(UNIT), rtol=1e-6, atol=1e-6
    )


@pytest.mark.daily(1)
@pytest.mark.parametrize("variance", [1e-6, 0.3, 40.0])
def test_a_known_noise_adds_its_variance_under_any_transformation(variance: float) -> None:
    x, y = decades()
    model = RobustGP(x, y, hyperparameters=WARPED)
    assert not model.fits[0].units.chain.is_affine
    plain, known = model.posterior(UNIT), torch.full((len(UNIT), 1), variance).double()
    noisy = model.posterior(UNIT, observation_noise=known)
    torch.testing.assert_close(noisy.variance, plain.variance + known, rtol=1e-6, atol=0.0)

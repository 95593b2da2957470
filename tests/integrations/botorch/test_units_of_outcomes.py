"""Outcomes in any units: predictions and what is chosen by them are the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

pytest.importorskip("botorch")

from botorch.acquisition import (
    LogExpectedImprovement,
    qLogNoisyExpectedImprovement,
    qNoisyExpectedImprovement,
    qUpperConfidenceBound,
)
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.models import ModelListGP
from botorch.models.transforms import Standardize
from botorch.posteriors import Posterior
from botorch.sampling import SobolQMCNormalSampler

from surefoot.hyperparameters import HyperparameterFit
from surefoot.integrations.botorch import RobustGP

QUICK = HyperparameterFit(passes=1, steps=6)
SCALES = [1e-9, 1e-6, 1e9]
POINTS = torch.rand(9, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
GRID = torch.rand(64, 1, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3))


def measured() -> tuple[Tensor, Tensor]:
    own = torch.Generator().manual_seed(0)
    x = torch.rand(24, 2, dtype=torch.float64, generator=own)
    noise = 0.05 * torch.randn(24, 1, dtype=torch.float64, generator=own)
    return x, torch.sin(5.0 * x[:, :1]) + x[:, 1:].square() + noise


@cache
def model(scale: float, kind: str = "one") -> RobustGP:
    """A model of outcomes in units of which the scale is one."""
    x, y = measured()
    columns = torch.cat([y, 3.0 - 2.0 * y], -1) if "two" in kind else y
    transform = Standardize(columns.shape[-1]) if "standardised" in kind else None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*varies by only")
        return RobustGP(
            x,
            scale * columns,
            outcome_transform=transform,
            hyperparameters=QUICK,
        )


def numbers(posterior: Posterior, scale: float) -> dict[str, Tensor]:
    """All that a posterior says, in units of the scale."""
    half = torch.full((2, *posterior.base_sample_shape), 0.5, dtype=torch.float64)
    law: Any = posterior.distribution  # type: ignore[attr-defined]
    found = {
        "mean": posterior.mean,
        "deviation": posterior.variance.sqrt(),
        "quantile": posterior.quantile(torch.tensor([0.1, 0.9], dtype=torch.float64)),
        "sample": posterior.rsample_from_base_samples(torch.Size([2]), half),
        "law": law.stddev,
        "part": law[..., :1].stddev if law.event_shape[1:] else law[..., 1:3].stddev,
        "expanded": law.expand(torch.Size([3, *law.batch_shape])).stddev,
        "sum": (law + law).stddev if not law.event_shape[1:] else law.stddev,
    }
    return {name: one / scale for name, one in found.items()}


def conditioned(one: RobustGP, scale: float) -> Posterior:
    x = POINTS[:2] + 0.01
    y = scale * torch.ones(2, one.num_outputs, dtype=torch.float64)
    return one.condition_on_observations(x, y).posterior(POINTS)


def fantasised(one: RobustGP, scale: float) -> Posterior:
    sampler = SobolQMCNormalSampler(torch.Size([2]), seed=0)
    return one.fantasize(POINTS[:2] + 0.01, sampler).posterior(POINTS)


DOORS: dict[str, Callable[[RobustGP, float], Posterior]] = {
    "posterior": lambda one, scale: one.posterior(POINTS),
    "with noise": lambda one, scale: one.posterior(POINTS, observation_noise=True),
    "conditioned": conditioned,
    "fantasised": fantasised,
}


@pytest.mark.daily(3)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", ["one", "two", "one, standardised", "two, standardised"])
def test_predictions_are_the_same_in_any_unit(kind: str, door: str, scale: float) -> None:
    expected = numbers(DOORS[door](model(1.0, kind), 1.0), 1.0)
    found = numbers(DOORS[door](model(scale, kind), scale), scale)
    for name, one in found.items():
        torch.testing.assert_close(one, expected[name], rtol=1e-6, atol=1e-6, msg=name)


@pytest.mark.long
def test_a_list_of_one_model_keeps_its_variance() -> None:
    for scale in SCALES:
        found = ModelListGP(model(scale)).posterior(POINTS).variance.sqrt() / scale
        torch.testing.assert_close(found, model(1.0).posterior(POINTS).variance.sqrt())


@pytest.mark.long
def test_of_float32_too() -> None:
    x, y = (part.float() for part in measured())
    close = torch.cat([POINTS, POINTS + 1e-4]).float()  # whose covariance is hard to factor
    half = torch.full((1, 18), 0.5)
    found = []
    for scale in (2.0**-20, 1.0, 2.0**30):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*varies by only")
            one = RobustGP(x, scale * y, hyperparameters=QUICK).posterior(close)
        sample = one.rsample_from_base_samples(torch.Size([1]), half)
        found.append(torch.cat([one.variance.sqrt()[:, 0], sample[0, :, 0]]) / scale)
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], rtol=1e-3, atol=1e-3)


def test_variances_are_positive_where_all_is_known() -> None:
    x = POINTS[:1].expand(40, 2).clone()
    y = torch.ones(40, 1, dtype=torch.float64)
    for scale in (1e-9, 1.0):
        noise = torch.full_like(y, 1e-15 * scale**2)
        known = model(scale).condition_on_observations(x, scale * y, noise=noise)
        found = known.posterior(POINTS[:1]).variance.sqrt() / scale
        assert 1e-7 < float(found) < 1e-3


def _sampler() -> SobolQMCNormalSampler:
    return SobolQMCNormalSampler(torch.Size([128]), seed=0)


def _best(scale: float) -> float:
    return float(scale * measured()[1].max())


FUNCTIONS: dict[str, Callable[[float], Any]] = {
    "qNEI": lambda scale: qNoisyExpectedImprovement(
        model(scale), X_baseline=measured()[0], sampler=_sampler()
    ),
    "qUCB": lambda scale: qUpperConfidenceBound(model(scale), beta=4.0, sampler=_sampler()),
    "LogEI in a unit": lambda scale: LogExpectedImprovement(
        model(scale), best_f=_best(1.0), posterior_transform=_in_units_of(scale)
    ),
    "qLogNEI in a unit": lambda scale: qLogNoisyExpectedImprovement(
        model(scale),
        X_baseline=measured()[0],
        sampler=_sampler(),
        posterior_transform=_in_units_of(scale),
    ),
}


def _in_units_of(scale: float) -> ScalarizedPosteriorTransform:
    return ScalarizedPosteriorTransform(torch.tensor([1.0 / scale], dtype=torch.float64))


@pytest.mark.long
@pytest.mark.parametrize("name", FUNCTIONS)
def test_acquisition_functions_choose_the_same_in_any_unit(name: str) -> None:
    def function(scale: float) -> Tensor:
        torch.manual_seed(0)  # BoTorch draws the points that it leaves out of a baseline
        return FUNCTIONS[name](scale)(GRID)

    with torch.no_grad(), torch.random.fork_rng():
        expected = function(1.0)
        for scale in SCALES:
            values = function(scale)
            assert int(values.argmax()) == int(expected.argmax())
            if "unit" in name:
                torch.testing.assert_close(values, expected, rtol=1e-4, atol=1e-4)


def test_outcomes_that_are_small_for_acquisition_functions_are_said() -> None:
    x, y = measured()
    with pytest.warns(UserWarning, match=r"varies by only .* such as 1e\+09 \* train_Y"):
        RobustGP(x, 1e-9 * y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RobustGP(x, y)
        RobustGP(x, 1e9 * y)
        RobustGP(x, torch.zeros_like(y))

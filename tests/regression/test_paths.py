"""Functions drawn from posteriors have the posterior's mean and covariance.

Every test of many normal or chi-square statistics fails by chance with a probability below 1e-6.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

import surefoot as sf
from support.feature_rules import greedy, sampled
from support.kernel_cases import table
from surefoot.features import PriorPaths
from surefoot.hyperparameters import GivenHyperparameters

CHANCE = 1e-6
SQUARE = sf.Box([0.0, 0.0], [1.0, 1.0])
LINE = torch.linspace(0.0, 1.0, 60, dtype=torch.float64).unsqueeze(-1)
PLANE = torch.rand(14, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
TRIED = torch.rand(10, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def check_gaussian(draws: Tensor, mean: Tensor, covariance: Tensor, slack: float = 0.0) -> None:
    """Draws (s, n) against a mean and a covariance, in all coordinates and their +-pairs.

    A covariance is known from its values in these directions, in each of which the squares of
    normal draws have a chi-square distribution; `slack` is the relative error allowed on top.
    """
    number, size = draws.shape
    eye = torch.eye(size, dtype=torch.float64)
    i, j = torch.triu_indices(size, size, 1)
    directions = torch.cat([eye, eye[i] + eye[j], eye[i] - eye[j]])
    variance = ((directions @ covariance) * directions).sum(-1)
    directions, variance = directions[variance > 1e-9], variance[variance > 1e-9]
    share = CHANCE / (4 * len(directions))  # two sides, of mean and variance
    projected = (draws - mean) @ directions.T
    z = projected.mean(0) * (number / variance).sqrt()
    assert float(z.abs().max()) < stats.norm.isf(share) * (1.0 + slack)
    squares = projected.square().sum(0) / variance
    assert float(squares.max()) < stats.chi2.isf(share, number) * (1.0 + slack)
    assert float(squares.min()) > stats.chi2.ppf(share, number) * (1.0 - slack)


def check(
    optimizer: sf.Optimizer, points: Tensor, number: int, slack: float = 0.0, width: float = 1.0
) -> None:
    posterior, prior = optimizer.belief().posterior, optimizer.belief().outcome.prior
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        paths = [posterior.path(generator, prior, width)(points) for _ in range(number)]
        at = posterior.evaluate(points)
        covariance = posterior.covariance(at, at)
        check_gaussian(
            torch.stack(paths), posterior.evaluated_mean(at), width**2 * covariance, slack
        )


FEATURES: dict[str, Callable[[], Any]] = {
    "exact": sf.Exact,
    "quadrature": lambda: sf.QuadratureFourier(12),
    "random-waves": lambda: sf.RandomFourier(40),
    "dictionary": lambda: sf.Dictionary([[0.2], [0.9]]),
    "greedy": lambda: greedy(3),
    "sampled": lambda: sampled(2.0),
    "batches": lambda: sampled(2.0, "adaptive"),
}


@pytest.mark.long
@pytest.mark.parametrize(
    "features",
    FEATURES,
)
@pytest.mark.parametrize(
    "estimator",
    [
        sf.LeastSquares(),
        sf.Huber(),
        sf.StudentT(),
    ],
    ids=repr,
)
def test_draws_of_all_arms_are_of_the_posterior(features: str, estimator: Any) -> None:
    optimizer = sf.Optimizer(
        sf.Arms(LINE),
        sf.Method(
            GivenHyperparameters(
                sf.kernels.scaled(sf.kernels.squared_exponential(0.3), 4.0), 0.2, standardise=True
            ),
            features=FEATURES[features](),
            estimator=estimator,
        ),
    )
    optimizer.tell_all([3, 20, 20, 33, 50], [1.0, 5.0, 4.0, 60.0, -2.0])
    every = optimizer.belief().posterior
    generator = torch.Generator().manual_seed(5)
    paths = [every.path(generator, optimizer.belief().outcome.prior, 1.0) for _ in range(600)]
    points = optimizer.space.points
    chosen = torch.arange(0, 60, 7)
    at = every.evaluate(points[chosen])
    with torch.no_grad():
        draws = torch.stack([path(points) for path in paths])[:, chosen]
        check_gaussian(draws, every.evaluated_mean(at), every.covariance(at, at))
        # Looked up and computed, they are the same functions.
        torch.testing.assert_close(paths[0](points[chosen]), draws[0], rtol=1e-6, atol=1e-6)


def test_a_width_multiplies_the_deviation() -> None:
    optimizer = sf.Optimizer(
        sf.Arms(LINE), sf.Method(sf.kernels.squared_exponential(0.3), ridge=0.2)
    )
    optimizer.tell_all([3, 20, 50], [1.0, 2.0, -2.0])
    points, prior = optimizer.space.points, optimizer.belief().outcome.prior

    def path(width: float) -> Tensor:
        draw = optimizer.belief().posterior.path(torch.Generator().manual_seed(5), prior, width)
        return draw(points) - optimizer.belief().posterior.mean(points)

    torch.testing.assert_close(path(3.0), 3.0 * path(1.0), rtol=0.0, atol=1e-12)
    torch.testing.assert_close(path(0.0), 0.0 * path(1.0), rtol=0.0, atol=1e-12)


def test_arms_without_coordinates() -> None:
    kernel = sf.kernels.precomputed(table(4))
    for features in (sf.Exact(), sampled(2.0), greedy(3)):
        optimizer = sf.Optimizer(sf.Arms(12), sf.Method(kernel, features=features, ridge=0.3))
        optimizer.tell_all([0, 4, 4, 9], [1.0, 2.0, 2.5, 0.0])
        check(optimizer, optimizer.space.points, 600)


def difference(left: Tensor, right: Tensor) -> Tensor:
    """A kernel without a spectrum that the library knows."""
    return torch.exp(-2.0 * (left.unsqueeze(1) - right).square().sum(-1))


KERNELS: dict[str, Any] = {
    "squared-exponential": sf.kernels.squared_exponential([0.3, 0.5]),
    "matern-0.5": sf.kernels.matern(0.5, 0.4),
    "matern-1.5": sf.kernels.matern(1.5, 0.3),
    "scaled": sf.kernels.scaled(sf.kernels.matern(2.5, [0.3, 0.9]), 9.0),
    "linear": sf.kernels.linear(),
    "custom": sf.kernels.custom(difference),
}


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    KERNELS,
)
@pytest.mark.parametrize(
    "features",
    [sf.Exact(), greedy(4), sampled(2.0)],
    ids=repr,
)
def test_draws_in_a_box_are_of_the_posterior(name: str, features: Any) -> None:
    """Slack: with 512 random waves squares are not quite chi-square."""
    optimizer = sf.Optimizer(SQUARE, sf.Method(KERNELS[name], features=features, ridge=0.1))
    optimizer.tell_all(PLANE, (5.0 * PLANE.sum(-1)).sin())
    check(optimizer, TRIED, 400, slack=0.03, width=2.0)


@pytest.mark.long
def test_draws_stay_accurate_among_many_points_that_are_close() -> None:
    generator = np.random.default_rng(0)
    near = 0.5 + 1e-3 * generator.standard_normal((60, 2))
    points = torch.from_numpy(np.concatenate([generator.random((40, 2)), near]))
    for kernel in (KERNELS["squared-exponential"], KERNELS["matern-0.5"]):
        optimizer = sf.Optimizer(SQUARE, sf.Method(kernel, ridge=1e-3))
        optimizer.tell_all(points, points.sum(-1).sin())
        check(optimizer, torch.cat([TRIED[:6], points[-3:] + 0.01]), 400, slack=0.03)


def test_draws_are_differentiable_functions() -> None:
    optimizer = sf.Optimizer(SQUARE, sf.Method(KERNELS["squared-exponential"], ridge=0.1))
    optimizer.tell_all(PLANE, PLANE.sum(-1).sin())
    path = optimizer.belief().posterior.path(
        torch.Generator().manual_seed(0), optimizer.belief().outcome.prior
    )
    points = TRIED.clone().requires_grad_()
    assert torch.autograd.gradcheck(path, points)


@pytest.mark.long
@pytest.mark.parametrize("space", [SQUARE, sf.Arms(TRIED)], ids=["box", "arms"])
@pytest.mark.parametrize("name", KERNELS)
def test_prior_draws_have_the_covariance_of_the_kernel(space: Any, name: str) -> None:
    kernel = sf.kernels.validated(KERNELS[name], space)
    prior, generator = PriorPaths(kernel, space), torch.Generator().manual_seed(7)
    with torch.no_grad():
        draws = torch.stack([prior(generator)(TRIED) for _ in range(400)])
        gram = sf.kernels.block(kernel, TRIED, TRIED)
    check_gaussian(draws, torch.zeros(len(TRIED)), gram, slack=0.03)


def test_a_kernel_that_no_grid_explains_is_refused() -> None:
    rough = sf.kernels.custom(lambda left, right: torch.exp(-100.0 * torch.cdist(left, right)))
    prior = PriorPaths(rough, SQUARE)
    with pytest.raises(sf.InvalidInput, match=r"CustomKernel.*of its variance unexplained.*Pass"):
        prior(torch.Generator())

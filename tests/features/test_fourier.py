"""Quadrature Fourier features within their error bound."""

import numpy as np
import pytest
from gpytorch.kernels import RBFKernel, ScaleKernel

import surefoot as sf
from reference import heavy_tails
from support.heavy_tailed_cases import features
from support.kernel_cases import waves


@pytest.mark.parametrize(
    ("dimension", "lengthscale", "nodes"),
    [
        *[(1, 1.0, 4), (1, 0.5, 8), (1, 0.3, 16), (1, 0.2, 26), (1, 0.15, 46)],
        *[(2, 1.0, 4), (2, 0.5, 6), (2, 0.5, 10), (2, 0.3, 14)],
    ],
)
def test_the_kernel_of_waves_errs_less_than_the_bound_on_the_unit_cube(
    dimension: int, lengthscale: float, nodes: int
) -> None:
    axis = np.linspace(0.0, 1.0, 41 if dimension == 1 else 7)
    arms = np.stack(np.meshgrid(*[axis] * dimension), -1).reshape(-1, dimension)
    case, chosen = waves(arms, lengthscale), sf.QuadratureFourier(nodes)
    optimizer = case.optimizer(features=chosen)
    optimizer.tell(0, 1.0)

    phi = features(optimizer)
    bound = chosen.error_bound(lengthscale, dimension)
    error = np.abs(phi @ phi.T - case.gram)
    assert error.max() <= bound + 1e-14  # of rounding, where the bound is below it
    np.testing.assert_allclose(
        bound, heavy_tails.quadrature_error(nodes, lengthscale, dimension), rtol=1e-9
    )
    np.testing.assert_allclose((phi**2).sum(axis=1), 1.0, rtol=1e-13)
    literal = heavy_tails.quadrature_features(arms, nodes, lengthscale)
    np.testing.assert_allclose(phi @ phi.T, literal @ literal.T, rtol=0.0, atol=1e-12)


def test_many_nodes_have_finite_features() -> None:
    arms = np.linspace(0.0, 1.0, 7)[:, None]
    case = waves(arms, 0.05)
    optimizer = case.optimizer(features=sf.QuadratureFourier(602))
    optimizer.tell(0, 1.0)

    phi = features(optimizer)
    np.testing.assert_allclose(phi @ phi.T, case.gram, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("chosen", [sf.QuadratureFourier(8), sf.RandomFourier(8)])
def test_kernels_of_some_coordinates_are_refused(chosen: sf.features.Features) -> None:
    box = sf.Box([0.0, 0.0], [1.0, 1.0])
    for kernel in (RBFKernel(active_dims=[0]), ScaleKernel(RBFKernel(), active_dims=[0])):
        with pytest.raises(sf.InvalidInput, match="active_dims"):
            sf.Optimizer(box, kernel, features=chosen).tell([0.5, 0.5], 1.0)


@pytest.mark.parametrize("arguments", [(0.0,), (-1.0,), (float("nan"),), (0.2, 0)])
def test_the_error_bound_checks_its_arguments(arguments: tuple) -> None:
    with pytest.raises(sf.InvalidInput):
        sf.QuadratureFourier(8).error_bound(*arguments)


def test_an_error_bound_beyond_all_numbers_is_infinite() -> None:
    assert sf.QuadratureFourier(8).error_bound(1e-200) == float("inf")
    assert sf.QuadratureFourier(8).error_bound(0.2, 5000) == float("inf")


def test_a_grid_in_thousands_of_dimensions_is_refused() -> None:
    space = sf.Box([0.0] * 3000, [1.0] * 3000)
    with pytest.raises(sf.InvalidInput, match="more than 10"):
        sf.QuadratureFourier(32).embedding(sf.kernels.squared_exponential(0.2), space)

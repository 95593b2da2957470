"""Quadrature Fourier features within their error bound."""

import numpy as np
import pytest
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel

import surefoot as sf
from reference import heavy_tails
from support.heavy_tailed_cases import features
from support.kernel_cases import waves


@pytest.mark.long
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


def test_random_waves_are_of_all_coordinates() -> None:
    box = sf.Box([0.0, 0.0], [1.0, 1.0])
    for kernel in (RBFKernel(active_dims=[0]), ScaleKernel(RBFKernel(), active_dims=[0])):
        with pytest.raises(sf.InvalidInput, match="active_dims"):
            sf.Optimizer(box, sf.Method(kernel, features=sf.RandomFourier(8))).tell([0.5, 0.5], 1.0)


class TestSums:
    """The features of an additive kernel are those of its parts (Mutny and Krause 2018)."""

    BOX = sf.Box([0.0] * 4, [1.0] * 4)

    def kernel(self):
        of = sf.kernels
        pair = of.scaled(of.squared_exponential([0.4, 0.6]), 0.6)
        third = of.scaled(of.squared_exponential(0.5), 0.3)
        return of.additive({(0, 2): pair, (3,): third, (1,): of.squared_exponential(0.7)})

    def test_their_kernel_is_the_sum_to_the_sum_of_the_bounds(self) -> None:
        points = self.BOX.sample(9, torch.Generator().manual_seed(0))
        features = sf.QuadratureFourier(16)
        phi = features.embedding(self.kernel(), self.BOX)(points).numpy()
        assert phi.shape == (9, 16**2 + 16 + 16)
        literal = heavy_tails.additive_quadrature_features(
            points.numpy(), 16, {(0, 2): ([0.4, 0.6], 0.6), (3,): ([0.5], 0.3), (1,): ([0.7], 1.0)}
        )
        np.testing.assert_allclose(phi @ phi.T, literal @ literal.T, rtol=0.0, atol=1e-12)
        bound = 0.6 * features.error_bound(0.4, 2) + 0.3 * features.error_bound(0.5)
        bound += features.error_bound(0.7)
        gram = sf.kernels.block(self.kernel(), points, points).numpy()
        assert np.abs(phi @ phi.T - gram).max() <= bound + 1e-14

    def test_kernels_of_gpytorch_with_active_dims_are_parts_too(self) -> None:
        ours, theirs = self.kernel(), RBFKernel(active_dims=[1]).double()
        theirs.lengthscale = 0.7
        parts = list(ours.kernels)
        whole = parts[0] + parts[1] + theirs
        points = self.BOX.sample(5, torch.Generator().manual_seed(1))
        grams = []
        for kernel in (ours, whole):
            phi = sf.QuadratureFourier(8).embedding(kernel, self.BOX)(points)
            grams.append(phi @ phi.T)
        torch.testing.assert_close(grams[0], grams[1], rtol=0.0, atol=1e-6)  # 0.7 in single

    def test_ten_coordinates_in_pairs_have_few_features(self) -> None:
        pair = sf.kernels.scaled(sf.kernels.squared_exponential(0.5), 0.2)
        kernel = sf.kernels.additive({(i, i + 1): pair for i in range(0, 10, 2)})
        box = sf.Box([0.0] * 10, [1.0] * 10)
        optimizer = sf.algorithms.ata_gp_ucb(
            box,
            kernel,
            moment=sf.Moment(1.0, 2.0),
            horizon=50,
            features=sf.QuadratureFourier(8, folded=True),
        )
        assert optimizer.tell([0.5] * 10, 0.3).dimension == 5 * 8**2
        whole = sf.kernels.squared_exponential(0.5)
        with pytest.raises(sf.InvalidInput, match=r"8\^10.*additive"):
            sf.QuadratureFourier(8).embedding(whole, box)

    def test_a_run_with_one_is_saved_and_goes_on(self, tmp_path) -> None:
        kernel, features = self.kernel(), sf.QuadratureFourier(8)
        optimizer = sf.Optimizer(self.BOX, sf.Method(kernel, features=features, ridge=0.01), seed=3)
        optimizer.tell([0.1, 0.2, 0.3, 0.4], 1.0)
        optimizer.save(tmp_path / "run")
        loaded = sf.Optimizer.load(tmp_path / "run")
        assert torch.equal(loaded.ask().point, optimizer.ask().point)
        assert sf.kernels.to_recipe(kernel) is not None
        assert [part.active_dims.tolist() for part in kernel.kernels] == [[0, 2], [3], [1]]

    @pytest.mark.parametrize(
        "parts",
        [{}, {(0, 0): None}, {(-1,): None}, {("a",): None}, {(0,): RBFKernel(active_dims=[0])}],
    )
    def test_groups_are_checked(self, parts) -> None:
        one = sf.kernels.squared_exponential(0.5)
        with pytest.raises(sf.InvalidInput):
            sf.kernels.additive({group: kernel or one for group, kernel in parts.items()})


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


def test_features_are_cosines_and_sines_and_have_gradients_after_use_in_inference_mode() -> None:
    box = sf.Box([0.0, 0.0], [1.0, 1.0])
    embedding = sf.RandomFourier(8, seed=1).embedding(sf.kernels.squared_exponential(0.3), box)
    points = torch.rand(5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        found = embedding(points).numpy()
    phase = points.numpy() @ embedding.frequencies.numpy().T
    height = embedding.amplitudes.numpy()
    expected = np.concatenate([height * np.cos(phase), height * np.sin(phase)], -1)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-14)
    points.requires_grad_()
    embedding(points).sum().backward()
    assert points.grad is not None

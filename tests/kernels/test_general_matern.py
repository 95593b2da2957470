"""Matérn of any smoothness: its values, its gradients, and what takes it in."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

import surefoot as sf
from reference import covariance
from surefoot import algorithms, kernels
from surefoot.kernels import GeneralMaternKernel

NUS = [1e-3, 0.1, 0.37, 0.5, 0.9, 1.0, 1.3, 1.5, 2.0, 2.5, 3.7, 8.0, 21.4, 50.0]
SPACES = {
    "arms": lambda: sf.Arms(np.linspace(0.0, 1.0, 15)[:, None]),
    "box": lambda: sf.Box([0.0], [1.0]),
}


def general(nu: float, lengthscale: float | list[float]) -> GeneralMaternKernel:
    """The kernel by Bessel functions, also where there is a closed form."""
    scales = torch.as_tensor(lengthscale, dtype=torch.float64).reshape(-1)
    kernel = GeneralMaternKernel(nu, ard_num_dims=len(scales) if len(scales) > 1 else None)
    kernel.double().lengthscale = scales
    return kernel.requires_grad_(False)


def at_distances(nu: float, distances: np.ndarray) -> np.ndarray:
    """The kernel of lengthscale 1 between the origin and points on a line."""
    points = torch.as_tensor(distances).unsqueeze(-1)
    return kernels.block(general(nu, 1.0), points.new_zeros(1, 1), points)[0].numpy()


def by_mpmath(nu: float, r: float) -> float:
    """The formula in 40 digits."""
    with mpmath.workdps(40):
        order = mpmath.mpf(nu)
        z = mpmath.sqrt(2 * order) * mpmath.mpf(r)
        if z == 0:
            return 1.0
        bessel = mpmath.besselk(order, z)
        return float(2 ** (1 - order) / mpmath.gamma(order) * z**order * bessel)


def points(number: int, dimension: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(number, dimension, dtype=torch.float64, generator=generator)


class TestValues:
    @pytest.mark.parametrize("nu", NUS)
    @pytest.mark.parametrize("lengthscale", [0.4, [0.3, 0.7]])
    def test_they_are_those_of_the_formula(self, nu: float, lengthscale: Any) -> None:
        left, right = points(9, 2, 0), points(7, 2, 1)
        formula = covariance.matern(nu, np.array(lengthscale))
        kernel = general(nu, lengthscale)
        ours = kernels.block(kernel, left, right)
        np.testing.assert_allclose(
            ours, covariance.gram(formula, left.numpy(), right.numpy()), rtol=1e-12, atol=1e-14
        )
        paired = kernels.diagonal(kernel, left)
        np.testing.assert_array_equal(paired, np.ones(9))
        different = kernel(left[:7], right, diag=True)
        np.testing.assert_allclose(different, ours[:7].diagonal(), rtol=1e-14)

    @pytest.mark.daily(4)
    @pytest.mark.slow
    @pytest.mark.parametrize("nu", NUS)
    def test_they_hold_next_to_zero_and_far_out(self, nu: float) -> None:
        distances = np.concatenate([[0.0], 10.0 ** np.linspace(-150, 2, 77)])
        expected = [by_mpmath(nu, r) for r in distances]
        np.testing.assert_allclose(at_distances(nu, distances), expected, rtol=0.0, atol=1e-13)

    @pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
    @pytest.mark.parametrize("lengthscale", [0.4, [0.3, 0.7, 1.1]])
    def test_half_integers_agree_with_gpytorch(self, nu: float, lengthscale: Any) -> None:
        theirs = sf.kernels.matern(nu, lengthscale)
        assert not isinstance(theirs, GeneralMaternKernel)
        left, right = points(20, 3, 2), points(30, 3, 3)
        torch.testing.assert_close(
            kernels.block(general(nu, lengthscale), left, right),
            kernels.block(theirs, left, right),
            rtol=1e-12,
            atol=1e-14,
        )

    def test_a_batch_of_points_is_a_batch_of_blocks(self) -> None:
        kernel, left, right = general(1.3, 0.4), points(6, 2, 4), points(8, 2, 5)
        batched = kernel(left.view(2, 3, 2), right.view(2, 4, 2)).to_dense()
        torch.testing.assert_close(batched[1], kernels.block(kernel, left[3:], right[4:]))

    @settings(max_examples=40, deadline=None)
    @given(
        st.floats(1e-300, 50.0),
        st.lists(st.floats(0.0, 1e300), min_size=1, max_size=8),
    )
    @example(1e-310, [1e-320, 1.0])
    @example(1.0, [0.0, 1e-162, 1e-308, 5e-324])
    @example(50.0, [2e-6, 1e-5, 80.0, 1e9])
    def test_they_fall_from_1_to_0(self, nu: float, distances: list[float]) -> None:
        values = at_distances(nu, np.sort([0.0, *distances]))
        assert values[0] == 1.0
        assert (values >= 0.0).all()
        assert (np.diff(values) <= 1e-13).all()

    @settings(max_examples=40, deadline=None)
    @given(st.floats(0.01, 50.0), st.floats(0.02, 5.0), st.integers(1, 3), st.integers(0, 2**30))
    def test_grams_are_positive_semidefinite(
        self, nu: float, lengthscale: float, dimension: int, seed: int
    ) -> None:
        some = points(25, dimension, seed)
        some = torch.cat([some, some[:5], some[:5] + 1e-9])
        gram = kernels.block(general(nu, lengthscale), some, some)
        torch.testing.assert_close(gram, gram.T, rtol=0.0, atol=1e-13)
        assert float(torch.linalg.eigvalsh(gram)[0]) > -1e-11

    def test_equal_points_in_different_blocks_are_equal(self) -> None:
        some = 1e3 + points(40, 4, 6)
        block = kernels.block(general(0.1, 0.3), some, some.flip(0))
        assert torch.equal(block.flip(1).diagonal(), torch.ones(40, dtype=torch.float64))


class TestGradients:
    @pytest.mark.daily(4)
    @pytest.mark.slow
    @pytest.mark.parametrize("nu", NUS)
    def test_they_are_those_of_finite_differences(self, nu: float) -> None:
        left, right = points(4, 2, 7), points(5, 2, 8)
        weights = points(4, 5, 9)

        def total(x: torch.Tensor, z: torch.Tensor, raw: torch.Tensor) -> torch.Tensor:
            kernel = general(nu, [0.4, 0.9])
            blocks = torch.func.functional_call(kernel, {"raw_lengthscale": raw}, (x, z))
            return (weights * blocks.to_dense()).sum()

        raw = general(nu, [0.4, 0.9]).raw_lengthscale.detach().clone()
        inputs = tuple(x.requires_grad_() for x in (left, right, raw))
        assert torch.autograd.gradcheck(total, inputs, eps=1e-6, atol=1e-7, rtol=1e-6)

    @pytest.mark.parametrize("nu", [0.2, 0.5, 1.0, 1.1, 3.7, 50.0])
    def test_they_are_numbers_at_and_near_equal_points(self, nu: float) -> None:
        some = torch.tensor([[0.5], [0.5], [0.5 + 1e-15], [0.5 + 1e-8], [1e6]]).double()
        some = some.requires_grad_()
        kernel = general(nu, 0.2).requires_grad_(True)
        kernel(some, some).to_dense().sum().backward()
        assert bool(torch.isfinite(some.grad).all())
        assert bool(torch.isfinite(kernel.raw_lengthscale.grad).all())

    def test_a_second_derivative_is_refused_and_not_wrong(self) -> None:
        some = points(3, 1, 10).requires_grad_()
        value = general(1.3, 0.2)(some, points(2, 1, 11)).to_dense().sum()
        (first,) = torch.autograd.grad(value, some, create_graph=True)
        with pytest.raises(RuntimeError, match=r"derivative|twice"):
            first.sum().backward()


class TestSmoothness:
    @pytest.mark.parametrize(
        "nu", [0, -1.5, float("nan"), float("inf"), "2.5", None, True, [1.0, 2.0]]
    )
    def test_one_that_is_no_positive_number_is_refused(self, nu: Any) -> None:
        with pytest.raises(sf.InvalidInput, match="`nu`"):
            sf.kernels.matern(nu, 0.2)

    def test_one_too_large_is_sent_to_the_limit(self) -> None:
        with pytest.raises(sf.InvalidInput, match="squared_exponential"):
            sf.kernels.matern(50.1, 0.2)

    def test_large_ones_come_near_the_squared_exponential(self) -> None:
        distances = np.linspace(0.0, 3.0, 30)
        assert np.abs(at_distances(50.0, distances) - np.exp(-0.5 * distances**2)).max() < 5e-3


class TestUse:
    @pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
    def test_a_saved_run_goes_on(self, space: Callable[[], Any], tmp_path: Path) -> None:
        kernel = sf.kernels.scaled(sf.kernels.matern(0.8, 0.3), 2.0)
        optimizer = algorithms.gp_ucb(space(), kernel, seed=4)
        for _ in range(5):
            query = optimizer.ask()
            optimizer.tell(query, float(torch.sin(5.0 * query.point[0])))
        optimizer.save(tmp_path / "run")
        loaded = sf.Optimizer.load(tmp_path / "run")
        some = points(6, 1, 12)
        assert torch.equal(
            loaded.belief().posterior.mean(some), optimizer.belief().posterior.mean(some)
        )
        assert torch.equal(loaded.ask().point, optimizer.ask().point)

    @pytest.mark.parametrize("nu", [0.1, 0.8, 1.0, 2.5, 3.3])
    def test_random_features_have_its_spectrum(self, nu: float) -> None:
        """Each entry strays beyond 0.05 with probability 2 exp(-20000 * 0.05^2 / 2) < 1e-10."""
        kernel = sf.kernels.matern(nu, [0.4, 0.8])
        some = points(8, 2, 13)
        phi = sf.RandomFourier(40000, seed=3).embedding(kernel, sf.Arms(some))(some)
        strays = (phi @ phi.T - kernels.block(kernel, some, some)).abs().max()
        assert float(strays) < 0.05

    def test_random_features_of_the_roughest_are_finite(self) -> None:
        some = points(8, 2, 14)
        phi = sf.RandomFourier(4000).embedding(sf.kernels.matern(1e-3, 0.3), sf.Arms(some))(some)
        assert bool(torch.isfinite(phi).all())

    def test_random_features_of_half_integers_are_drawn_from_normals(self) -> None:
        generator = torch.Generator().manual_seed(7)
        normal = torch.randn(4, 1, dtype=torch.float64, generator=generator)
        squares = torch.randn(4, 3, dtype=torch.float64, generator=generator).square().mean(-1)
        some = points(3, 1, 15)
        embedding = sf.RandomFourier(8, seed=7).embedding(
            sf.kernels.matern(1.5, 0.3), sf.Arms(some)
        )
        expected = normal / squares.sqrt().unsqueeze(-1) / 0.3
        torch.testing.assert_close(embedding.frequencies, expected)

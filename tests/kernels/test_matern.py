"""Matérn kernels: their smoothness, and what takes it in."""

from typing import Any

import pytest
import torch

import surefoot as sf
from surefoot import kernels


def points(number: int, dimension: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(number, dimension, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize(
    "nu", [0, -1.5, float("nan"), float("inf"), "2.5", None, True, [1.0, 2.0], 1.3, 50.0]
)
def test_a_smoothness_without_a_closed_form_is_refused(nu: Any) -> None:
    with pytest.raises(sf.InvalidInput, match="`nu`"):
        kernels.matern(nu, 0.2)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_random_features_have_its_spectrum(nu: float) -> None:
    """Each entry strays beyond 0.05 with probability 2 exp(-20000 * 0.05^2 / 2) < 1e-10."""
    kernel = kernels.matern(nu, [0.4, 0.8])
    some = points(8, 2, 13)
    phi = sf.RandomFourier(40000, seed=3).embedding(kernel, sf.Arms(some))(some)
    strays = (phi @ phi.T - kernels.block(kernel, some, some)).abs().max()
    assert float(strays) < 0.05


def test_random_features_are_drawn_from_normals() -> None:
    generator = torch.Generator().manual_seed(7)
    normal = torch.randn(4, 1, dtype=torch.float64, generator=generator)
    squares = torch.randn(4, 3, dtype=torch.float64, generator=generator).square().mean(-1)
    some = points(3, 1, 15)
    embedding = sf.RandomFourier(8, seed=7).embedding(kernels.matern(1.5, 0.3), sf.Arms(some))
    expected = normal / squares.sqrt().unsqueeze(-1) / 0.3
    torch.testing.assert_close(embedding.frequencies, expected)

"""Pareto dominance and hypervolume."""

import numpy as np
import pytest

from surefoot._internal.pareto import hypervolume, non_dominated


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_non_dominated_is_that_of_the_definition(size: int) -> None:
    losses = np.random.default_rng(size).integers(0, 4, (5, 12, size)).astype(float)
    for vectors, mask in zip(losses, non_dominated(losses), strict=True):
        for one, kept in zip(vectors, mask, strict=True):
            dominated = (vectors <= one).all(-1) & (vectors < one).any(-1)
            assert kept == (not dominated.any())


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_hypervolume_is_that_of_optuna(size: int) -> None:
    compute = pytest.importorskip("optuna._hypervolume").compute_hypervolume
    losses = np.random.default_rng(size).random((3, 10, size))
    expected = [compute(one, np.full(size, 1.1)) for one in losses]
    np.testing.assert_allclose(hypervolume(losses, np.full(size, 1.1)), expected)


def test_hypervolume_leaves_out_what_is_beyond_the_reference() -> None:
    losses = np.array([[0.5, 0.5], [2.0, 0.0], [np.inf, np.inf]])
    assert hypervolume(losses, np.array([1.0, 1.0])) == pytest.approx(0.25)
    assert hypervolume(losses[:0], np.array([1.0, 1.0])) == 0.0

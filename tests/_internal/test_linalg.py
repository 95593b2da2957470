"""Inverses of the covariances of a fit."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot._internal.linalg import SMALL, inverse_and_root
from surefoot.types import NumericalError

SIZES = pytest.mark.parametrize("size", [1, 7, SMALL, SMALL + 1])


def covariance(size: int, noise: float) -> np.ndarray:
    """Squared exponential kernel on a line, with noise."""
    points = np.linspace(0.0, 1.0, size)
    return np.exp(-0.5 * np.subtract.outer(points, points) ** 2) + noise * np.eye(size)


@SIZES
def test_inverses_are_those_of_the_matrix_which_stays_as_it_was(size: int) -> None:
    matrix = covariance(size, 0.1)
    inverse, root = inverse_and_root(matrix)
    np.testing.assert_array_equal(matrix, covariance(size, 0.1))
    np.testing.assert_allclose(inverse, np.linalg.inv(matrix), atol=1e-11)
    np.testing.assert_allclose(root, np.linalg.cholesky(matrix), atol=1e-12)
    np.testing.assert_array_equal(inverse, inverse.T)


def test_a_singular_matrix_has_jitter() -> None:
    matrix = covariance(SMALL + 1, 0.0)  # of rank 10 but for rounding
    inverse, root = inverse_and_root(matrix)
    np.testing.assert_allclose(root @ root.T, matrix, atol=1e-5)
    np.testing.assert_allclose(root.T @ inverse @ root, np.eye(SMALL + 1), atol=0.1)


@pytest.mark.parametrize("value", [-1.0, np.nan])
@pytest.mark.parametrize("size", [7, SMALL + 1])
def test_what_is_no_covariance_is_refused(size: int, value: float) -> None:
    matrix = covariance(size, 0.1)
    matrix[2, 2] = value
    with pytest.raises(NumericalError, match="not positive definite"):
        inverse_and_root(matrix)

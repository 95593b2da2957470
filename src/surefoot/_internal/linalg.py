"""Factorisations of nearly singular matrices: Cholesky, full and pivoted, and square roots."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri, dpstrf
from torch import Tensor

from surefoot.types import NumericalError

Floats = NDArray[np.float64]  # with matrices of few rows, NumPy is three times as fast as torch

SMALL = 64  # rows up to which SciPy's LAPACK is faster; beyond, its threads compete with torch's


def cholesky(matrix: Tensor) -> Tensor:
    """Lower Cholesky factor, with jitter where rounding makes it necessary.

    Rounding can leave the smallest eigenvalue of a nearly singular matrix below zero. The smallest
    sufficient jitter from 1e-14 to 1e-6, relative to the mean of the diagonal, is added then. Not
    `linear_operator.utils.cholesky.psd_safe_cholesky`, whose jitter is absolute, and warns.

    Args:
        matrix: Positive definite matrix (..., m, m).

    Returns:
        Lower triangular factor (..., m, m).

    Raises:
        NumericalError: If the matrix is not positive definite, even with jitter.

    Example:
        >>> cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]], dtype=torch.float64)).tolist()
        [[2.0, 0.0], [1.0, 2.0]]
    """
    small = matrix.ndim == 2 and 0 < len(matrix) <= SMALL
    if small and matrix.device.type == "cpu" and not matrix.requires_grad:
        lower, info = dpotrf(matrix.numpy(), lower=1)
        if info == 0 and math.isfinite(lower.trace()):  # not a number is no failure to OpenBLAS
            return torch.from_numpy(lower)
    factor, failed = torch.linalg.cholesky_ex(matrix)
    if not bool(failed.any()):
        return factor
    scale = matrix.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None]
    eye = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    for exponent in (-14, -12, -10, -8):
        factor, failed = torch.linalg.cholesky_ex(matrix + scale * 10.0**exponent * eye)
        if not bool(failed.any()):
            return factor
    factor, failed = torch.linalg.cholesky_ex(matrix + scale * 1e-6 * eye)
    if bool(failed.any()):
        raise NumericalError(
            f"a matrix of shape {tuple(matrix.shape)} with diagonal from "
            f"{float(matrix.diagonal(dim1=-2, dim2=-1).min()):.3g} is not positive definite: "
            "check that the kernel is, and that rewards and coordinates are of sane size."
        )
    return factor


def inverse_and_root(matrix: Floats) -> tuple[Floats, Floats]:
    """Inverse of a positive definite matrix, and its lower Cholesky factor.

    Of the matrices of a fit there are hundreds. SciPy's LAPACK takes half of the time of torch
    with 20 rows, as long with 60, and twice as long with 500.

    Args:
        matrix: Positive definite matrix (m, m).

    Returns:
        The inverse (m, m), and the factor (m, m), with jitter where rounding makes it necessary.

    Raises:
        NumericalError: If the matrix is not positive definite, even with jitter.

    Example:
        >>> inverse_and_root(np.array([[4.0]]))
        (array([[0.25]]), array([[2.]]))
    """
    if len(matrix) > SMALL:
        factor = cholesky(torch.from_numpy(matrix))
        return torch.cholesky_inverse(factor).numpy(), factor.numpy()
    root, info = dpotrf(matrix.T, lower=1)  # the transpose is column by column, as LAPACK's
    if info != 0 or not math.isfinite(root.trace()):
        root = cholesky(torch.from_numpy(matrix)).numpy()
    lower, _ = dpotri(root, lower=1)  # it leaves the other triangle zero
    inverse: Floats = lower + lower.T
    inverse.reshape(-1)[:: len(inverse) + 1] *= 0.5
    return inverse, np.asarray(root)


def square_root(matrix: Tensor) -> Tensor:
    """A root R of a matrix R R^T that is positive semi-definite up to rounding.

    It exists for many close points too, where a Cholesky factor does not.

    Args:
        matrix: Symmetric matrix (m, m), whose negative eigenvalues count as zero.

    Returns:
        The root (m, m).

    Example:
        >>> root = square_root(torch.ones(2, 2, dtype=torch.float64))
        >>> (root @ root.T).round(decimals=9).tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    values, vectors = torch.linalg.eigh(matrix)
    return vectors * values.clamp_min(0.0).sqrt()


def distances(left: Tensor, right: Tensor) -> Tensor:
    """Euclidean distances (..., n, m) of points (..., n, d) and (..., m, d), from differences.

    Zero for equal points, where inner products leave an error of 1e-8 and more.

    Args:
        left: Points (..., n, d).
        right: Points (..., m, d).

    Returns:
        The distances, differentiable in the points.

    Example:
        >>> points = torch.tensor([[1e9, 0.1], [1e9, 0.4]], dtype=torch.float64)
        >>> distances(points, points).diagonal().tolist()
        [0.0, 0.0]
    """
    return torch.cdist(left, right, compute_mode="donot_use_mm_for_euclid_dist")


def same_points(left: Tensor, right: Tensor) -> Tensor:
    """Indicator (p, r) of points (p, d) that equal points (r, d), as ones and zeros."""
    return (distances(left, right) == 0.0).to(torch.float64)


def pivoted_root(
    matrix: Tensor,
    rank: int,
    tolerance: float = 1e-10,
) -> tuple[Tensor, Tensor]:
    """Pivoted Cholesky factorisation of an explicit matrix, by LAPACK on the CPU.

    Args:
        matrix: Positive semidefinite matrix (n, n).
        rank: Maximum number of pivots.
        tolerance: Residual variance at which to stop, relative to the largest diagonal entry.

    Returns:
        Pivots (m,) as indices, and the lower factor (m, m) of the matrix at the pivots.
    """
    largest = float(matrix.diagonal().max())
    if not largest > 0.0:
        return torch.zeros(0, dtype=torch.int64, device=matrix.device), matrix[:0, :0]
    factor, order, found, _ = dpstrf(matrix.cpu().numpy(), tol=tolerance * largest, lower=1)
    found = min(int(found), rank)
    pivots = torch.from_numpy(order[:found].astype("int64") - 1)
    root = torch.from_numpy(np.tril(factor[:found, :found]))
    return pivots.to(matrix.device), root.to(matrix.device)


def pivoted_cholesky(
    column: Callable[[int], Tensor],
    diagonal: Tensor,
    rank: int,
    tolerance: float = 1e-10,
) -> list[int]:
    """Pivots of the partial Cholesky factorisation of an implicit matrix.

    Each pivot is the index with the largest residual variance. Costs O(n rank^2) and evaluates
    `rank` columns of the matrix. linear_operator's version needs the matrix itself, and stops by
    the trace of the residual.

    Args:
        column: Function from an index to that column (n,) of a positive semidefinite matrix.
        diagonal: Diagonal (n,) of the matrix.
        rank: Maximum number of pivots.
        tolerance: Residual variance at which to stop, relative to the largest diagonal entry.

    Returns:
        Indices of the pivots, in order.

    References:
        Harbrecht et al. 2012, "On the low-rank approximation by the pivoted Cholesky
        decomposition".
    """
    residual = diagonal.clone()
    limit = tolerance * float(diagonal.max())
    factor = torch.zeros(min(rank, len(diagonal)), len(diagonal), dtype=diagonal.dtype)
    factor = factor.to(diagonal.device)
    pivots: list[int] = []
    while len(pivots) < len(factor):
        pivot = int(residual.argmax())
        if float(residual[pivot]) <= limit:
            break
        done = len(pivots)
        row = column(pivot) - factor[:done, pivot] @ factor[:done]
        factor[done] = row / residual[pivot].sqrt()
        residual = (residual - factor[done].square()).clamp_min(0.0)
        residual[pivot] = 0.0
        pivots.append(pivot)
    return pivots

"""Factorisations that hold up when matrices are almost singular."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.linalg.lapack import dpotrf, dpstrf
from torch import Tensor

from surefoot.types import NumericalError

SMALL = 64  # rows up to which SciPy's LAPACK is quicker; beyond, its threads and torch's collide


def cholesky(matrix: Tensor) -> Tensor:
    """Lower Cholesky factor of a positive definite matrix (..., m, m).

    Rounding can leave the last eigenvalue of a nearly singular matrix below zero; the least
    jitter (relative to the mean of the diagonal) that makes it factor is added then, at most 1e-6.
    """
    small = matrix.ndim == 2 and 0 < len(matrix) <= SMALL
    if small and matrix.device.type == "cpu" and not matrix.requires_grad:
        lower, info = dpotrf(matrix.numpy(), lower=1)
        if info == 0:
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


def pivoted_root(
    matrix: Tensor,  # (n, n), positive semidefinite
    rank: int,
    tolerance: float = 1e-10,
) -> tuple[Tensor, Tensor]:
    """`pivoted_cholesky` of a whole matrix, with the lower factor (m, m) of what it chose.

    The factor is LAPACK's, on the CPU; pivots come as an index tensor (m,).
    """
    largest = float(matrix.diagonal().max())
    if not largest > 0.0:
        return torch.zeros(0, dtype=torch.int64, device=matrix.device), matrix[:0, :0]
    limit = tolerance * largest
    factor, order, found, _ = dpstrf(matrix.cpu().numpy(), tol=limit, lower=1)
    found = min(int(found), rank)
    pivots = torch.from_numpy(order[:found].astype("int64") - 1)
    root = torch.from_numpy(np.tril(factor[:found, :found]))
    return pivots.to(matrix.device), root.to(matrix.device)


def pivoted_cholesky(
    column: Callable[[int], Tensor],  # index -> (n,) column of a positive semidefinite matrix
    diagonal: Tensor,  # (n,)
    rank: int,
    tolerance: float = 1e-10,
) -> list[int]:
    """Indices that greedily cover the matrix, each the one with the largest residual variance.

    Stops at `rank` indices, or when every residual is below `tolerance` times the largest
    diagonal entry. Costs O(n rank^2) and asks for `rank` columns of the matrix.
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

"""Nyström features: the kernel as a dictionary of points sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot import _checks, kernels
from surefoot._linalg import cholesky, pivoted_cholesky
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.features.embedding import Embedding

TOLERANCE = 1e-10  # residual variance, relative to the largest, below which a point adds nothing


@dataclass(frozen=True, eq=False)
class NystromEmbedding:
    r"""phi(x) = L^{-1} k_S(x) with L L' = K_S.

    :math:`\phi(x)^\top \phi(x') = k_S(x)^\top K_S^{+} k_S(x')`, the same for any root of K_S;
    the triangular one lets a point join without changing the features that are there.
    """

    kernel: Kernel
    dictionary: Tensor  # (m, d)
    inverse_root: Tensor  # (m, m), L^{-1}

    @classmethod
    def of(cls, kernel: Kernel, points: Tensor, rank: int | None = None) -> NystromEmbedding:
        """The embedding of a dictionary (S, d), without the points that the others explain.

        With `rank`, at most that many, each the one that the ones before explain least.
        """
        if len(points) == 0:
            raise InvalidInput("the dictionary is empty, expected at least one point.")
        diagonal = kernels.diagonal(kernel, points)
        if not float(diagonal.max()) > 0:
            raise InvalidInput("the kernel is zero at every point of the dictionary.")
        if len(points) <= 2048:
            gram = kernels.block(kernel, points, points)
            pivots = pivoted_cholesky(gram.__getitem__, diagonal, rank or len(points), TOLERANCE)
        else:
            pivots = pivoted_cholesky(
                lambda i: kernels.block(kernel, points[i : i + 1], points)[0],
                diagonal,
                rank or len(points),
                TOLERANCE,
            )
        dictionary = points[pivots]
        root = cholesky(kernels.block(kernel, dictionary, dictionary))
        eye = torch.eye(len(pivots), dtype=points.dtype, device=points.device)
        return cls(kernel, dictionary, torch.linalg.solve_triangular(root, eye, upper=False))

    @property
    def dimension(self) -> int:
        return len(self.dictionary)

    def __call__(self, points: Tensor) -> Tensor:
        return kernels.block(self.kernel, points, self.dictionary) @ self.inverse_root.T

    def residual(self, points: Tensor, features: Tensor) -> Tensor:
        diagonal = kernels.diagonal(self.kernel, points)
        return (diagonal - features.square().sum(-1)).clamp_min(0.0)


@dataclass(frozen=True)
class Sketch:
    """Nyström features on at most `size` of the points seen, the ones that cover them best.

    While there are no more than `size` distinct points this is the exact Gaussian process.
    """

    size: int = 256

    def __post_init__(self) -> None:
        _checks.count("size", self.size)

    def embed(self, kernel: Kernel, sites: Tensor) -> Embedding:
        return NystromEmbedding.of(kernel, sites, rank=self.size)

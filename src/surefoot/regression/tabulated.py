"""A feature map with what it needs at the arms kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from surefoot._internal.linalg import cholesky
from surefoot.features.nystrom import NystromEmbedding
from surefoot.regression.embedding import Embedding
from surefoot.regression.ridge import RidgeFactor

_CHUNK = 4096  # arms at a time, which bounds memory
_STRIP = 1024  # and where the product should stay in the cache


@dataclass(frozen=True, eq=False)
class Tabulated:
    """`embedding`, which for the very tensor `points` looks up instead of computing.

    Features of the arms are `columns` (A, m), times `transform`' (m, m) where there is one: then
    the columns are those of the kernel, and what is linear in the features costs one reading of
    them, without the product that would give the features themselves.
    """

    embedding: Embedding
    points: Tensor  # (A, d)
    prior: Tensor  # (A,), k(x, x)
    columns: Tensor  # (A, m)
    transform: Tensor | None = None  # (m, m)

    @classmethod
    def of(cls, embedding: Embedding, points: Tensor, prior: Tensor) -> Tabulated:
        """With the features of all arms worked out now, for a map that lasts."""
        return cls(embedding, points, prior, embedding(points))

    @classmethod
    def of_kernel(
        cls,
        embedding: NystromEmbedding,
        points: Tensor,
        prior: Tensor,
        columns: Tensor,
    ) -> Tabulated:
        """From the kernel's columns (A, m) at the dictionary, for a map that soon changes."""
        return cls(embedding, points, prior, columns, embedding.inverse_root)

    @property
    def dimension(self) -> int:
        return self.embedding.dimension

    @cached_property
    def features(self) -> Tensor:
        """Features of all arms (A, m)."""
        return self.columns if self.transform is None else self.columns @ self.transform.T

    @cached_property
    def residuals(self) -> Tensor:
        """[k(x, x) - ||phi(x)||^2]+ of all arms (A,)."""
        return self.embedding.residual(self.points, self.features)

    def at(self, arms: int | Tensor) -> Tensor:
        """Features (m,) of an arm, or (n, m) of several."""
        rows = self.columns[arms]
        return rows if self.transform is None else rows @ self.transform.T

    def products(self, coefficients: Tensor) -> Tensor:  # (m, n) -> (A, n)
        """Phi times coefficients, in one reading of the table."""
        if self.transform is not None:
            coefficients = self.transform.T @ coefficients
        return self.columns @ coefficients

    def product(self, coefficients: Tensor) -> Tensor:  # (m,) -> (A,)
        """The same for one set of coefficients."""
        if self.transform is not None:
            coefficients = self.transform.T @ coefficients
        return self.columns @ coefficients

    def variance(self, factor: RidgeFactor) -> Tensor:
        """k(x, x) - ||phi||^2 + ridge phi' V^{-1} phi of all arms (A,)."""
        if self.transform is None:
            parts = self.columns.split(_CHUNK)
            leverage = torch.cat([factor.leverage(part) for part in parts])
            return self.residuals + factor.ridge * leverage
        # k - ||C k_S||^2 with C'C = T'(I - ridge V^{-1})T: one product instead of two.
        eye = torch.eye(self.dimension, dtype=self.columns.dtype, device=self.columns.device)
        root = cholesky(eye - factor.ridge * factor.inverse)
        product = root.T @ self.transform
        parts = self.columns.T.split(_STRIP, dim=1)
        explained = torch.cat([(product @ part).square_().sum(0) for part in parts])
        return (self.prior - explained).clamp_min_(0.0)

    def __call__(self, points: Tensor) -> Tensor:
        return self.features if points is self.points else self.embedding(points)

    def residual(self, points: Tensor, features: Tensor) -> Tensor:
        if points is self.points:
            return self.residuals
        return self.embedding.residual(points, features)

    def cross_residual(
        self, left: Tensor, left_features: Tensor, right: Tensor, right_features: Tensor
    ) -> Tensor:
        return self.embedding.cross_residual(left, left_features, right, right_features)

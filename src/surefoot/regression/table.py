"""The feature map evaluated at all arms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from surefoot._internal.brief import brief
from surefoot._internal.linalg import cholesky
from surefoot.regression.draws import Path, ResidualDraw, no_residual, residual_draw
from surefoot.regression.embedding import Embedding
from surefoot.regression.ridge import RidgeFactor

_CHUNK = 4096  # arms at a time, which bounds memory
_STRIP = 1024  # and where the product should stay in the cache
_EXPLAINED = 1e-9  # of the largest variance, that the features of a complete dictionary may leave


@dataclass(frozen=True, eq=False)
class Table:
    """An embedding that looks up, instead of computing, the features of the arms.

    The features of the arms are `columns` (A, m) times `transform`' (m, m). With the identity as
    the transform they are the columns themselves. Otherwise the columns are those of the kernel,
    and what is linear in the features costs one reading of them, without the product.

    Args:
        embedding: The feature map, for points that are no arms.
        points: The arms (A, d).
        prior: k(x, x) of the arms (A,).
        columns: Factors (A, m) of the features.
        transform: Factor (m, m) of the features; of shape (0, 0) for the identity.
    """

    embedding: Embedding
    points: Tensor
    prior: Tensor
    columns: Tensor
    transform: Tensor

    __repr__ = brief

    @classmethod
    def of(cls, embedding: Embedding, points: Tensor, prior: Tensor) -> Table:
        """The table of a map, whose features at all arms are computed now."""
        return cls(embedding, points, prior, embedding(points), points.new_zeros(0, 0))

    @property
    def dimension(self) -> int:
        """The number of features m."""
        return self.columns.shape[1]

    @cached_property
    def _is_plain(self) -> bool:
        return self.transform.numel() == 0

    @cached_property
    def largest(self) -> float:
        """Largest prior variance of an arm."""
        return float(self.prior.max())

    @cached_property
    def features(self) -> Tensor:
        """Features of all arms (A, m)."""
        return self.columns if self._is_plain else self.columns @ self.transform.T

    @cached_property
    def residuals(self) -> Tensor:
        """[k(x, x) - ||phi(x)||^2]+ of all arms (A,)."""
        return self.embedding.residual(self.points, self.features)

    def at(self, arms: int | Tensor) -> Tensor:
        """Features (m,) of an arm, or (n, m) of several."""
        rows = self.columns[arms]
        return rows if self._is_plain else rows @ self.transform.T

    def seen(self, coefficients: Tensor) -> Tensor:  # (m,) or (m, n), the same
        """Coefficients whose product with the columns is that of the features."""
        return coefficients if self._is_plain else self.transform.T @ coefficients

    def product(self, coefficients: Tensor) -> Tensor:  # (m,) -> (A,), (m, n) -> (A, n)
        """Phi times coefficients, in one reading of the table."""
        return self.columns @ self.seen(coefficients)

    def variance(self, factor: RidgeFactor) -> Tensor:
        """k(x, x) - ||phi||^2 + ridge phi' V^{-1} phi of all arms (A,)."""
        if self._is_plain:
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

    def residual_draw(self, prior: Callable[[], Path]) -> ResidualDraw:
        """A draw of the residual process, which is 0 where the features represent all arms."""
        most = _EXPLAINED * self.largest
        if self._is_plain and float(self.residuals.max()) <= most:
            return no_residual(self.columns, self.dimension)
        return residual_draw(self.embedding, prior, self.columns)

"""A feature map with its values at the arms kept."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from surefoot.features.embedding import Embedding


@dataclass(frozen=True, eq=False)
class Tabulated:
    """`embedding`, which for the very tensor `points` looks up instead of computing."""

    embedding: Embedding
    points: Tensor  # (A, d)
    features: Tensor  # (A, m)
    residuals: Tensor  # (A,)

    @classmethod
    def of(cls, embedding: Embedding, points: Tensor) -> Tabulated:
        features = embedding(points)
        return cls(embedding, points, features, embedding.residual(points, features))

    @property
    def dimension(self) -> int:
        return self.embedding.dimension

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

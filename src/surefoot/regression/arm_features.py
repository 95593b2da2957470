"""Features of arms, wherever those of all of them are."""

from __future__ import annotations

from functools import cached_property

from torch import Tensor

from surefoot.regression.embedding import Embedding


class ArmFeatures:
    """The part of a table of features that it has from its feature map and from the prior.

    Attributes:
        embedding: The feature map, for points that are no arms.
        prior: k(x, x) of the arms (A,).
    """

    embedding: Embedding
    prior: Tensor

    @property
    def dimension(self) -> int:
        """The number of features m."""
        return self.embedding.dimension

    @cached_property
    def largest(self) -> float:
        """Largest prior variance of an arm."""
        return float(self.prior.max())

    def prior_at(self, arms: int | Tensor) -> Tensor:
        """k(x, x) of an arm, or (n,) of several."""
        return self.prior[arms]

    def residual(self, points: Tensor, features: Tensor) -> Tensor:
        """[k(x, x) - ||phi(x)||^2]+ (n,) at points (n, d) with these features (n, m)."""
        return self.embedding.residual(points, features)

    def cross_residual(
        self, left: Tensor, left_features: Tensor, right: Tensor, right_features: Tensor
    ) -> Tensor:
        """k(x, y) - phi(x)' phi(y) (n, p) at points (n, d) and (p, d) with these features."""
        return self.embedding.cross_residual(left, left_features, right, right_features)

"""Protocol of feature maps."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class Embedding(Protocol):
    """A fixed feature map phi with phi(x)^T phi(x') close to k(x, x').

    One that leaves a residual needs a method `residual_draw(prior)` for Thompson sampling, as
    `NystromEmbedding` has; see `surefoot.regression.draws`.
    """

    @property
    def dimension(self) -> int:
        """m, the number of features."""

    def __call__(self, points: Tensor) -> Tensor:
        """Features (n, m) of points (n, d)."""

    def residual(self, points: Tensor, features: Tensor) -> Tensor:
        """[k(x, x) - ||phi(x)||^2]+ at points (n, d) with features (n, m), as (n,)."""

    def cross_residual(
        self, left: Tensor, left_features: Tensor, right: Tensor, right_features: Tensor
    ) -> Tensor:
        """k(x, x') - phi(x)^T phi(x') of points (..., n, d) and (..., p, d), as (..., n, p)."""

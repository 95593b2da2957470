"""What a feature map is."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class Embedding(Protocol):
    """A fixed feature map phi with phi(x)^T phi(x') close to k(x, x').

    One that leaves a residual needs a method `residual_draw(prior)` for Thompson sampling, as
    `NystromEmbedding` has; see `surefoot.regression.draws`. A map of a stationary kernel may have
    a method `stationary_covariance(points)`; see the function of that name.
    """

    @property
    def dimension(self) -> int:
        """m, the number of features."""
        ...

    def __call__(self, points: Tensor) -> Tensor:
        """Features (n, m) of points (n, d)."""
        ...

    def residual(self, points: Tensor, features: Tensor) -> Tensor:
        """[k(x, x) - ||phi(x)||^2]+ at points (n, d) with features (n, m), as (n,)."""
        ...

    def cross_residual(
        self, left: Tensor, left_features: Tensor, right: Tensor, right_features: Tensor
    ) -> Tensor:
        """k(x, x') - phi(x)^T phi(x') of points (..., n, d) and (..., p, d), as (..., n, p)."""
        ...


def stationary_covariance(embedding: Embedding, points: Tensor) -> Tensor | None:
    """Prior covariance at points, where it is known to depend on their differences only.

    It is then the same at all translations of the points, and is computed once for all of them. A
    feature map says so by a method `stationary_covariance(points)`, as `NystromEmbedding` has.

    Args:
        embedding: The feature map.
        points: Points (p, d).

    Returns:
        The covariance (p, p), in the units of the model; None where nothing is known of the kernel.
    """
    known = getattr(embedding, "stationary_covariance", None)
    return None if known is None else known(points)

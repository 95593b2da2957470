"""What a feature map is, and what chooses one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from torch import Tensor

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


class Embedding(Protocol):
    """A fixed feature map phi with phi(x)'phi(x') close to k(x, x')."""

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
        """k(x, x') - phi(x)'phi(x') between points (n, d) and (p, d), as (n, p)."""
        ...


class Features(Protocol):
    """A rule that chooses the feature map for a kernel and the points seen so far."""

    def embed(
        self, kernel: Kernel, sites: Tensor, dictionary: Tensor | None = None, fresh: int = 0
    ) -> Embedding:
        """The feature map once `sites` (S, d) are all the distinct points of interest.

        `dictionary` is that of the map chosen before the last `fresh` sites, for this kernel.
        """
        ...

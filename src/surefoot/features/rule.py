"""A rule that chooses a feature map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from torch import Tensor

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.regression.embedding import Embedding


class Features(Protocol):
    """A rule that chooses the feature map for a kernel and the points seen so far."""

    def embed(
        self, kernel: Kernel, sites: Tensor, dictionary: Tensor | None = None, fresh: int = 0
    ) -> Embedding:
        """The feature map once `sites` (S, d) are all the distinct points of interest.

        `dictionary` is that of the map chosen before the last `fresh` sites, for this kernel.
        """
        ...

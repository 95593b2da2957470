"""The exact Gaussian process, as Nyström features with everything in the dictionary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot.features.features import fixed_features
from surefoot.features.growing import Growing
from surefoot.features.nystrom_embedding import NystromEmbedding
from surefoot.regression.observations import Pull
from surefoot.regression.refitted import Refitted
from surefoot.regression.rooms import room_of
from surefoot.spaces import Arms, InMemory, Space

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.regression.regression import Regression

_LARGEST_TABLE = 2048  # arms up to which all of them, pulled or not, make the dictionary
_MOST_ROWS = 50_000  # arms up to which a row of the kernel matrix is kept of each measured one,
# in main memory without being asked for


@dataclass(frozen=True)
class Exact:
    """The exact posterior: every distinct point that was measured is in the dictionary.

    Example:
        >>> import surefoot as sf
        >>> space = sf.Arms([[0.0], [0.5], [1.0]])
        >>> kernel = sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.Optimizer(space, sf.Method(kernel, features=sf.Exact()))
    """

    def init(
        self,
        kernel: Kernel,
        space: Space,
        ridge: float,
        generator: torch.Generator,
        *,
        lasting: bool = True,
    ) -> Regression:
        """The regression before the first measurement (see `Features.init`)."""
        if lasting and isinstance(space, Arms) and _are_few(space):
            embedding = NystromEmbedding.of(kernel, space.points)
            return fixed_features(embedding, kernel, space, ridge)
        if lasting and isinstance(space, Arms) and _has_room(space):
            return Growing(kernel, room_of(space, kernel), ridge)
        return Refitted(_AllSites(kernel), ridge)


def _are_few(arms: Arms) -> bool:
    """Whether all arms make the dictionary, in this process."""
    return len(arms) <= _LARGEST_TABLE and not arms.storage.is_elsewhere


def _has_room(arms: Arms) -> bool:
    """Whether a feature of all arms is kept for each measured one."""
    return len(arms) <= _MOST_ROWS or arms.storage != InMemory()


@dataclass
class _AllSites:
    """Every site is in the dictionary."""

    kernel: Kernel = field(metadata={"saved": False})
    _latest: tuple[int, NystromEmbedding] | None = field(default=None, metadata={"saved": False})

    def update(self, pull: Pull) -> None:
        """Sites are counted where they are given."""

    def embedding(self, sites: Tensor) -> NystromEmbedding:
        if self._latest is None or self._latest[0] != len(sites):
            self._latest = len(sites), NystromEmbedding.of(self.kernel, sites)
        return self._latest[1]

"""The room for the features of all arms that their storage calls for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from torch import Tensor

from surefoot import kernels
from surefoot.regression.arm_values import ArmTable
from surefoot.regression.embedding import Embedding
from surefoot.regression.room import Room
from surefoot.regression.sharded import ShardedRoom
from surefoot.spaces.storage import Sharded

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.spaces import Arms


class Tables(Protocol):
    """Room for the features of all arms."""

    @property
    def arms(self) -> Arms:
        """The arms."""
        ...

    @property
    def prior(self) -> Tensor:
        """k(x, x) of the arms (A,)."""
        ...

    @property
    def is_ample(self) -> bool:
        """Whether there is memory for several tables, and for those of their computation."""
        ...

    def table(self, embedding: Embedding) -> ArmTable:
        """The table of a map, whose features at all arms are computed when they are needed."""
        ...

    def growing(self, embedding: Embedding) -> ArmTable:
        """The table of a map which points are to join."""
        ...


def room_of(arms: Arms, kernel: Kernel) -> Tables:
    """Room for the features of arms.

    Args:
        arms: The arms.
        kernel: The prior covariance.
    """
    prior = kernels.diagonal(kernel, arms.points).detach()
    if isinstance(arms.storage, Sharded):
        return ShardedRoom(arms, prior, kernel)
    return Room(arms, prior)

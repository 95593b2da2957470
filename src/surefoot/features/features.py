"""Protocol of feature maps, regressions in fixed ones, and tables of features at all arms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from surefoot import kernels
from surefoot.regression.arm_values import ArmTable
from surefoot.regression.embedding import Embedding
from surefoot.regression.refitted import FixedMap, Refitted
from surefoot.regression.room import Room
from surefoot.regression.sharded import ShardedRoom
from surefoot.regression.tabulated import Tabulated
from surefoot.spaces import Arms, Space
from surefoot.spaces.storage import Sharded

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.regression.regression import Regression
    from surefoot.spaces import Arms


class Tables(Protocol):
    """Room for the features of all arms."""

    @property
    def arms(self) -> Arms:
        """The arms."""

    @property
    def prior(self) -> Tensor:
        """k(x, x) of the arms (A,)."""

    @property
    def is_ample(self) -> bool:
        """Whether there is memory for several tables, and for those of their computation."""

    def table(self, embedding: Embedding) -> ArmTable:
        """The table of a map, whose features at all arms are computed when they are needed."""

    def growing(self, embedding: Embedding) -> ArmTable:
        """The table of a map which points are to join."""


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


class Features(Protocol):
    """A rule that says in which features the regression is carried out.

    A rule of your own is any object with this method. For a feature map that does not depend on
    the measurements, `fixed_features` returns the regression.

    Example:
        >>> import torch
        >>> import surefoot as sf
        >>> class Landmarks:
        ...     def init(self, kernel, space, ridge, generator, *, lasting=True):
        ...         points = torch.linspace(0.0, 1.0, 5, dtype=torch.float64).unsqueeze(-1)
        ...         embedding = sf.features.NystromEmbedding.of(kernel, points)
        ...         return sf.features.fixed_features(
        ...             embedding, kernel, space, ridge, lasting=lasting
        ...         )
        >>> kernel = sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.Optimizer(sf.Box([0.0], [1.0]), sf.Method(kernel, features=Landmarks()))
        >>> optimizer.tell([0.3], 1.0).dimension
        5
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
        """The regression before the first measurement.

        Args:
            kernel: The prior covariance.
            space: Where the function is defined.
            ridge: Regularisation, the noise variance in the units of the model.
            generator: Source of all random choices.
            lasting: Whether the kernel stays for the whole run; one that is fitted changes.

        Returns:
            The regression, of the kind that suits the features and the space.

        Raises:
            InvalidInput: If the features do not go with the kernel or the space.
        """


def fixed_features(
    embedding: Embedding, kernel: Kernel, space: Space, ridge: float, *, lasting: bool = True
) -> Regression:
    """A regression in a feature map that does not depend on what is measured.

    On arms, the features are tabulated and a round costs the same however many came before.

    Args:
        embedding: The feature map.
        kernel: The prior covariance, whose diagonal bounds the variance.
        space: Where the function is defined.
        ridge: Regularisation, the noise variance in the units of the model.
        lasting: Whether the kernel stays for the whole run.

    Returns:
        The regression before the first measurement.

    Example:
        >>> import torch
        >>> import surefoot as sf
        >>> space, kernel = sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> embedding = sf.features.NystromEmbedding.of(kernel, space.points)
        >>> sf.features.fixed_features(embedding, kernel, space, ridge=1.0).max_dimension
        3
    """
    if isinstance(space, Arms) and lasting:
        return Tabulated.of(room_of(space, kernel).table(embedding), ridge)
    return Refitted(FixedMap(embedding), ridge)

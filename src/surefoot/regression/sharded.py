"""Arms whose table is in parts, each in a worker: what remains in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from surefoot._internal.brief import brief
from surefoot._internal.tensors import NO_ROWS
from surefoot.regression.arm_values import MOST_STEPS
from surefoot.regression.draws import Path, ResidualDraw
from surefoot.regression.embedding import Embedding
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.shard import Command, stripped
from surefoot.regression.sharded_posterior import ShardedPosterior
from surefoot.regression.shards import Shards, no_draws
from surefoot.regression.table import ArmFeatures
from surefoot.regression.units import RewardUnits

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.spaces import Arms


@dataclass(eq=False)
class ShardedRoom:
    """Room for the features of all arms, in workers.

    Args:
        arms: The arms.
        prior: k(x, x) of the arms (A,).
        kernel: The prior covariance.
    """

    arms: Arms
    prior: Tensor
    kernel: Kernel

    is_ample: ClassVar[bool] = False

    @cached_property
    def _shards(self) -> Shards:
        return Shards(self.arms, self.kernel)

    def table(self, embedding: Embedding) -> ShardedTable:
        """The table of a map."""
        return ShardedTable(embedding, self.arms, self.prior, self._shards, "table")

    def growing(self, embedding: Embedding) -> ShardedTable:
        """The table of a map which points are to join."""
        return ShardedTable(embedding, self.arms, self.prior, self._shards, "growing")


@dataclass(eq=False)
class ShardedTable(ArmFeatures):
    """Features of all arms, in workers; of single arms, they are computed here.

    Args:
        embedding: The feature map.
        arms: The arms.
        prior: k(x, x) of the arms (A,).
        shards: The workers.
        kind: How workers make it: "table" or "growing".
        made: The command that made it, if it is another one.
    """

    embedding: Embedding
    arms: Arms
    prior: Tensor
    shards: Shards
    kind: str
    made: Command = ()

    __repr__ = brief

    def __post_init__(self) -> None:
        self.key = self.shards.key(self)
        if self.made:
            name, *arguments = self.made
            self.shards.tell(name, self.key, *arguments)
            self.made = ()
        else:
            self.shards.tell(*self.needed)

    @property
    def needed(self) -> Command:
        """The command by which a worker has it."""
        return (self.kind, self.key, self.embedding)

    @property
    def points(self) -> Tensor:
        """The arms (A, d)."""
        return self.arms.points

    def at(self, arms: int | Tensor) -> Tensor:
        """Features (m,) of an arm, or (n, m) of several."""
        features = self.embedding(self.points[arms].reshape(-1, self.points.shape[1]))
        if self.arms.storage.precision == "float32":
            features = features.to(torch.float32).to(features)
        return features[0] if isinstance(arms, int) else features

    def joined(
        self, embedding: Embedding, point: Tensor, known: Tensor, left: float, members: list[int]
    ) -> ShardedTable:
        """The table of a map with one more feature, by a point that joins the dictionary."""
        made = ("join", self.key, embedding, point.clone(), known, left, members)
        return replace(self, embedding=embedding, made=made)

    def values(self) -> ShardedValues:
        """Variance of the arms before the first pull."""
        return ShardedValues(self)

    def start(self, factor: RidgeFactor) -> ShardedStart:
        """Variance of the arms for a factor."""
        return ShardedStart(factor, self)

    def __call__(self, points: Tensor) -> Tensor:
        return self.embedding(points)

    def residual_draw(self, prior: Callable[[], Path]) -> ResidualDraw:
        """No draws: they would be of all arms."""
        return no_draws()


@dataclass(eq=False)
class ShardedStart:
    """Variance of the arms at some time, which is computed for those that are looked up.

    Args:
        factor: V at that time.
        table: The features that it is in.
    """

    factor: RidgeFactor
    table: ShardedTable = field(metadata={"saved": False})

    def at(self, arms: Tensor) -> Tensor:
        """Variance of several arms."""
        features = self.table.at(arms)
        residual = self.table.prior_at(arms) - features.square().sum(-1)
        explained = self.factor.ridge * self.factor.leverage(features)
        return residual.clamp_min(0.0) + explained

    def of(self, arm: int) -> float:
        """Variance of an arm."""
        return float(self.at(torch.tensor([arm])))

    def within(self, table: ShardedTable) -> ShardedStart:
        """The same with a table."""
        return ShardedStart(self.factor, table)


@dataclass(eq=False)
class ShardedValues:
    """Variance of all arms, in workers, which take in steps when they are asked something.

    Args:
        table: The features of all arms.
    """

    table: ShardedTable = field(metadata={"saved": False})
    _waiting: int = field(default=0, metadata={"saved": False})  # steps since the last posterior
    _factor: RidgeFactor | None = field(default=None, metadata={"saved": False})  # at the last one
    _losses: int = field(default=-1, metadata={"saved": False})  # -1: no worker has it yet

    def __post_init__(self) -> None:
        self._key = self.table.shards.key(self)

    @property
    def is_crowded(self) -> bool:
        """Whether so many updates wait that the variance should be found from the factor."""
        return self._waiting > MOST_STEPS

    def fall(self, solved: Tensor, drop: float) -> None:
        """Lower the variance by a step."""
        if self._losses < 0:
            return  # it is found from the factor
        self._waiting += 1
        self.table.shards.tell("fall", self._key, solved, drop)

    def extend(self, table: ShardedTable) -> None:
        """Go on in a table with one more feature."""
        self.table = table
        if self._losses >= 0:
            table.shards.tell("extend", self._key, table.key)

    def refresh(self, factor: RidgeFactor) -> None:
        """Find the variance from a factor, when the next posterior is asked for."""
        self._waiting, self._losses = 0, -1
        self._factor = factor

    def at(self, arms: int | Tensor) -> Tensor:
        """Variance of an arm, or (n,) of several, as of the last posterior."""
        found = self.start().at(torch.as_tensor(arms).reshape(-1))
        return found[0] if isinstance(arms, int) else found

    def start(self) -> ShardedStart:
        """Variance as of the last posterior, to look up."""
        none = torch.zeros(0, self.table.dimension, dtype=torch.float64)
        factor = RidgeFactor.of(none, 1.0) if self._factor is None else self._factor
        return ShardedStart(factor, self.table)

    def posterior(
        self, factor: RidgeFactor, coefficients: Tensor, units: RewardUnits, *, is_own: bool
    ) -> ShardedPosterior:
        """The posterior of coefficients (m,)."""
        shards, sent = self.table.shards, stripped(factor)
        found = ShardedPosterior(factor, coefficients, units, self.table, factor)
        if is_own:
            if self._losses != shards.losses:
                shards.tell("refresh", self._key, self.table.key, sent)
            light = RidgeFactor(factor.ridge, NO_ROWS)
            shards.tell("posterior", found.key, self._key, coefficients, units, light)
            self._waiting, self._losses, self._factor = 0, shards.losses, factor
        else:
            shards.tell("posterior_of", found.key, self.table.key, coefficients, units, sent)
        return found

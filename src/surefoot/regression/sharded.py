"""Arms whose table is in parts, each in a worker: what remains in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from surefoot._internal.brief import brief
from surefoot._internal.tensors import NO_ROWS
from surefoot.regression.arm_posterior import together
from surefoot.regression.arm_values import MOST_STEPS
from surefoot.regression.draws import Path, ResidualDraw
from surefoot.regression.embedding import Embedding
from surefoot.regression.observations import Observations, Pull
from surefoot.regression.posterior import AtArms, FeaturePosterior
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.shard import Best, Command, stripped
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
        return residual.clamp_min(0.0) + (self.factor.ridge * self.factor.leverage(features))

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


@dataclass(eq=False)
class ShardedPosterior(AtArms):
    """The posterior at all arms, whose means and variances are in workers.

    Args:
        factor: V of the rewarded pulls and the pulls without rewards.
        coefficients: theta (m,).
        units: Prior mean and output scale.
        table: The feature map at the arms.
        before: V of the rewarded pulls alone.
        redrawn: Whether pulls without rewards are conditioned on with their residual.
        pulls: Pulls without rewards, where they are.
        pulled: Number of updates by pulls without rewards, where they are not.
        fallen: (m, m), see `ArmPosterior`.
        chain: A number that posteriors have in common of which each has an update more.
    """

    factor: RidgeFactor
    coefficients: Tensor
    units: RewardUnits
    table: ShardedTable
    before: RidgeFactor
    redrawn: bool = False
    pulls: tuple[Pull, ...] = ()
    pulled: int = 0
    fallen: Tensor = NO_ROWS
    chain: int = 0
    handle: _Handle = field(init=False)

    derived: ClassVar[bool] = True  # from regression and estimate: not saved

    __repr__ = brief

    def __post_init__(self) -> None:
        self.handle = _Handle(self.table.shards)

    @property
    def key(self) -> int:
        """The key that workers know it by."""
        return self.handle.key

    @property
    def embedding(self) -> ShardedTable:
        """The feature map."""
        return self.table

    @property
    def scale(self) -> float:
        """Output scale, in reward units."""
        return self.units.scale

    @cached_property
    def elsewhere(self) -> FeaturePosterior:
        """The posterior at any points, which are evaluated here."""
        center, scale = self.units.center, self.units.scale
        return FeaturePosterior(
            self.table.embedding, self.factor, self.coefficients, center, scale, self.pulls
        )

    def mean(self, points: Tensor | Sequence) -> Tensor:  # (n, d) -> (n,)
        """Posterior mean, differentiable in the points."""
        return self.elsewhere.mean(points)

    def variance(self, points: Tensor | Sequence) -> Tensor:  # (n, d) -> (n,)
        """Posterior variance of the function, without noise."""
        return self.elsewhere.variance(points)

    def mean_and_deviation(self, points: Tensor | Sequence) -> tuple[Tensor, Tensor]:
        """Mean (n,) and standard deviation (n,) at points (n, d)."""
        return self.elsewhere.mean_and_deviation(points)

    def deviation_at(self, observations: Observations) -> Tensor:
        """Standard deviation (S,) of the arms that were observed."""
        return self.elsewhere.deviation_at(observations)

    def best_arm(self, width: float, among: Tensor | None = None) -> int:
        """The arm of largest mean + width * deviation; the first where there are several."""
        if self.pulls:
            pulls = tuple(pull._replace(point=pull.point.clone()) for pull in self.pulls)
            given = replace(self.elsewhere, factor=stripped(self.factor), pulls=pulls)
            question: Command = ("best_given", given, width, among)
        else:
            question = ("best", self.key, width, among, self.pulled, self.fallen, self.chain)
        best: list[Best] = self.table.shards.ask(question, self._needed)
        return max(best, key=lambda one: (one.score, -one.arm)).arm

    def top(self, width: float, number: int) -> tuple[Tensor, Tensor]:
        """The arms (n,) of largest bounds, best first, and these (n,)."""
        parts = self.table.shards.ask(("top", self.key, width, number), self._needed)
        scores, arms = (torch.cat(column) for column in zip(*parts, strict=True))
        order = scores.argsort(descending=True, stable=True)[:number]
        return arms[order], scores[order]

    def updated(self, pulls: Sequence[Pull]) -> ShardedPosterior:
        """The posterior as if arms had been pulled with their means as rewards."""
        if self.redrawn:
            return self._with(pulls=(*self.pulls, *pulls))
        return self._after(*together(pulls))

    @property
    def as_redrawn(self) -> ShardedPosterior:
        """The same where pulls without rewards are conditioned on with their residual."""
        return self._with(redrawn=True)

    @property
    def of_rewards(self) -> ShardedPosterior:
        """The posterior without the pulls whose rewards are not known."""
        if not self.pulled and not self.pulls:
            return self
        return self._with(factor=self.before, pulls=(), pulled=0, fallen=NO_ROWS)

    def tabulates(self, points: Tensor) -> bool:
        """Never: what is of the size of the arms is in workers."""
        return False

    def path(self, generator: torch.Generator, prior: Any, width: float = 1.0) -> Path:
        """No draws: they would be of all arms."""
        return no_draws()

    @property
    def _needed(self) -> list[Command]:
        """Commands by which a worker that has lost everything knows the posterior."""
        table, factor = self.table, stripped(self.before)
        made = ("posterior_of", self.key, table.key, self.coefficients, self.units, factor)
        return [table.needed, made]

    def _after(self, arms: Tensor, counts: Tensor) -> ShardedPosterior:
        factor, seen = self.factor.after(self.table.at(arms), counts)
        fallen = self.fallen if self.pulled else seen.new_zeros(len(seen), len(seen))
        return self._with(
            factor=factor,
            pulled=self.pulled + 1,
            fallen=torch.addmm(fallen, seen, seen.T, alpha=self.factor.ridge * self.scale**2),
            chain=self.handle.next_chain(self.chain if self.pulled else None, self.pulled),
        )

    def _with(self, **changes: Any) -> ShardedPosterior:
        """The same with changes, known to workers by the same key."""
        other = replace(self, **changes)
        other.handle = self.handle
        return other


class _Handle:
    """The key by which workers know a posterior, and the chains of pulls that follow it.

    Args:
        shards: The workers.
    """

    def __init__(self, shards: Shards) -> None:
        self.key = shards.key(self)
        self._last: dict[int, int] = {}  # pulls of the longest posterior of each chain

    def next_chain(self, chain: int | None, pulled: int) -> int:
        """The chain of a posterior after one of so many pulls: its own, or a new one for another.

        Args:
            chain: The chain of the posterior before; None before the first pull.
            pulled: Its number of pulls.
        """
        if chain is None or self._last[chain] != pulled:
            chain = len(self._last)
        self._last[chain] = pulled + 1
        return chain

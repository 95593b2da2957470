"""The posterior at arms whose table is in parts, each in a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from surefoot._internal.brief import brief
from surefoot._internal.tensors import NO_ROWS
from surefoot.regression.arm_posterior import together
from surefoot.regression.draws import Path
from surefoot.regression.observations import Observations, Pull
from surefoot.regression.posterior import AtArms, FeaturePosterior
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.shard import Best, Command, stripped
from surefoot.regression.shards import Shards, no_draws
from surefoot.regression.units import RewardUnits

if TYPE_CHECKING:
    from surefoot.regression.sharded import ShardedTable


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
        embedding = self.table.embedding
        return FeaturePosterior(
            embedding, self.factor, self.coefficients, center, scale, self.pulls
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

"""The posterior at all arms, updated by pulls whose rewards are not known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot._internal.brief import brief
from surefoot._internal.tensors import NO_ROWS
from surefoot.regression.draws import Path
from surefoot.regression.observations import Observations, Pull
from surefoot.regression.posterior import LEAST_VARIANCE, AtArms, FeaturePosterior
from surefoot.regression.products import block_length
from surefoot.regression.ridge import RidgeFactor

if TYPE_CHECKING:
    from surefoot.regression.table import Table

_FIRST = 16  # stale bounds that are computed again at once, four times as many if need be


@dataclass(eq=False)
class Bounds:
    """Upper confidence bounds of all arms, some of them from before the last pulls.

    Args:
        width: Multiplier of the standard deviation.
        score: mean + width * deviation (A,), or more than that where it is stale.
        computed_at: The number of updates (A,) that each one takes into account.
    """

    width: float
    score: Tensor
    computed_at: Tensor


@dataclass(eq=False)
class ArmPosterior(AtArms):
    """The posterior at all arms after the rewards, and after pulls without rewards.

    Pulls let the variance fall as if their means had been measured, by one update, with the mean
    as it is (Calandriello et al. 2020, BBKB). Upper bounds only fall then, so one that was
    computed earlier bounds that of now, and only those above the best need be computed again.

    Args:
        factor: V of the rewarded pulls and the pulls without rewards, in a CPU's memory.
        coefficients: theta (m,).
        center: Prior mean, in reward units.
        scale: Output scale, in reward units.
        mean_of_arms: Posterior mean (A,).
        start: Posterior variance of the arms (A,) before the pulls without rewards, in the units
            of the model.
        before: V of the rewarded pulls alone.
        table: The feature map at the arms.
        redrawn: Whether the dictionary is drawn again with every reward, so that a pull explains
            itself, and pulls without rewards are conditioned on with their residual.
        pulled: Number of updates by pulls without rewards (of several arms at once).
        fallen: (m, m), the variance falls by columns' fallen columns; empty before the pulls.
    """

    factor: RidgeFactor
    coefficients: Tensor
    center: float
    scale: float
    mean_of_arms: Tensor
    start: Tensor
    before: RidgeFactor
    table: Table = field(metadata={"saved": False})
    redrawn: bool = False
    pulled: int = 0
    fallen: Tensor = NO_ROWS
    _bounds: Bounds | None = None
    _chain: int = field(default=-1, metadata={"saved": False})  # of the pulls that follow
    _followed: ArmPosterior | None = field(default=None, metadata={"saved": False})

    __repr__ = brief

    @property
    def embedding(self) -> Table:
        """The feature map."""
        return self.table

    @property
    def points(self) -> Tensor:
        """The arms (A, d)."""
        return self.table.points

    @cached_property
    def deviation_of_arms(self) -> Tensor:
        """Posterior standard deviation of all arms (A,)."""
        least = LEAST_VARIANCE * self.table.largest
        if not self.pulled:
            deviation = self.start.clamp_min(least).sqrt_()
            return deviation if self.scale == 1.0 else self.scale * deviation
        fallen = self.table.by_blocks(lambda arms: self.table.fallen(self.fallen, arms))
        return (self._start_in_reward_units - fallen).clamp_min_(self.scale**2 * least).sqrt_()

    @cached_property
    def elsewhere(self) -> FeaturePosterior:
        """The posterior at points that need not be arms."""
        factor = self.factor.to(self.start.device)
        return FeaturePosterior(self.table, factor, self.coefficients, self.center, self.scale)

    def mean(self, points: Tensor | Sequence) -> Tensor:  # (n, d) -> (n,)
        """Posterior mean, differentiable in the points."""
        return self.mean_of_arms if points is self.points else self.elsewhere.mean(points)

    def variance(self, points: Tensor | Sequence) -> Tensor:  # (n, d) -> (n,)
        """Posterior variance of the function, without noise."""
        return self.mean_and_deviation(points)[1].square()

    def mean_and_deviation(self, points: Tensor | Sequence) -> tuple[Tensor, Tensor]:
        """Mean (n,) and standard deviation (n,) at points (n, d)."""
        if points is self.points:
            return self.mean_of_arms, self.deviation_of_arms
        return self.elsewhere.mean_and_deviation(points)

    def deviation_at(self, observations: Observations) -> Tensor:
        """Standard deviation (S,) of the arms that were observed."""
        return self.deviation_of_arms[observations.arms]

    def updated(self, pulls: Sequence[Pull]) -> ArmPosterior | FeaturePosterior:
        """The posterior as if arms had been pulled with their means as rewards.

        The bounds that were computed go to the new posterior.
        """
        return self.elsewhere.updated(pulls) if self.redrawn else self._after(*together(pulls))

    def best_arm(self, width: float, among: Tensor | None = None) -> int:
        """The arm of largest mean + width * deviation; the first where there are several.

        Args:
            width: Multiplier of the standard deviation, at least 0.
            among: The only arms (n,) to choose from.

        Returns:
            The index of the arm.
        """
        if not self.pulled:
            if among is not None:
                score = self.mean_of_arms[among] + width * self.deviation_of_arms[among]
                return int(among[score.argmax()])
            return int(torch.add(self.mean_of_arms, self.deviation_of_arms, alpha=width).argmax())
        bounds = self._bounds
        if bounds is None or bounds.width != width:
            score = self.mean_of_arms + width * self._start_in_reward_units.clamp_min(0.0).sqrt_()
            at = torch.zeros(len(score), dtype=torch.int32, device=score.device)
            bounds = self._bounds = Bounds(width, score, at)
        if among is not None:
            self._compute(bounds, among)
            return int(among[bounds.score[among].argmax()])
        score = bounds.score
        number = _FIRST if score.is_cpu else len(score)  # a GPU computes all in the time of a few
        while True:
            top = int(score.argmax())
            if int(bounds.computed_at[top]) == self.pulled:
                return top
            self._compute(bounds, _highest(score, number))
            number *= 4

    def bound_of(self, arm: int, width: float) -> float:
        """mean + width * deviation of an arm, the best by that width."""
        if self.pulled:
            return float(self._bounds.score[arm])  # type: ignore[union-attr]
        return float(self.mean_of_arms[arm] + width * self.deviation_of_arms[arm])

    def top(self, width: float, number: int) -> tuple[Tensor, Tensor]:
        """The arms (n,) of largest mean + width * deviation, best first, and these bounds (n,)."""
        score = torch.add(self.mean_of_arms, self.deviation_of_arms, alpha=width)
        found = score.topk(min(number, len(score)))
        return found.indices, found.values

    def after(self, pulled: int, fallen: Tensor, chain: int) -> ArmPosterior:
        """The posterior after pulls without rewards, by what they make the variance fall by.

        Bounds that were computed after fewer pulls of the same chain are taken over.

        Args:
            pulled: Number of pulls.
            fallen: (m, m), the variance falls by features' fallen features.
            chain: A number that posteriors have in common of which each has a pull more.
        """
        known = self._followed
        same = known is not None and known.pulled <= pulled and self._chain == chain
        bounds = known._bounds if known is not None and same else None
        self._chain = chain
        self._followed = replace(self, pulled=pulled, fallen=fallen, _bounds=bounds)
        self._followed._followed = None
        return self._followed

    def among(self, arms: Tensor) -> ArmPosterior:
        """The same with a table of some of the arms (n,) alone."""
        mean, start = self.mean_of_arms[arms], self.start[arms]
        table = self.table.rows(arms)
        return replace(self, mean_of_arms=mean, start=start, table=table, _bounds=None)

    @property
    def as_redrawn(self) -> ArmPosterior:
        """The same where pulls without rewards are conditioned on with their residual."""
        return replace(self, redrawn=True)

    @property
    def of_rewards(self) -> ArmPosterior:
        """The posterior without the pulls whose rewards are not known."""
        if not self.pulled:
            return self
        return replace(self, factor=self.before, pulled=0, fallen=NO_ROWS, _bounds=None)

    def tabulates(self, points: Tensor) -> bool:
        """Whether mean and deviation at these very points are looked up."""
        return points is self.points

    def path(
        self,
        generator: torch.Generator,
        prior: Callable[[torch.Generator], Path],
        width: float = 1.0,
    ) -> Path:
        """A function drawn from the posterior, whose values at all arms are one product."""
        return self.elsewhere.path(generator, prior, width)

    @cached_property
    def _start_in_reward_units(self) -> Tensor:
        return self.start if self.scale == 1.0 else self.scale**2 * self.start

    def _after(self, arms: Tensor, counts: Tensor) -> ArmPosterior:
        features = self.table.at(arms).to(self.factor.gram.device)
        factor, directions = self.factor.after(features, counts)
        seen = self.table.seen(directions.to(self.start.device))
        fallen = self.fallen if self.pulled else self.start.new_zeros(len(seen), len(seen))
        fallen = torch.addmm(fallen, seen, seen.T, alpha=self.factor.ridge * self.scale**2)
        bounds, self._bounds = self._bounds, None
        return replace(self, factor=factor, pulled=self.pulled + 1, fallen=fallen, _bounds=bounds)

    def _compute(self, bounds: Bounds, arms: Tensor) -> None:
        """Bring the bounds of arms (n,) up to date."""
        arms = arms[bounds.computed_at[arms] != self.pulled]
        for some in arms.split(block_length(self.table.dimension, arms.device)):
            fallen = self.table.fallen(self.fallen, some)
            deviation = (self._start_in_reward_units[some] - fallen).clamp_min_(0.0).sqrt_()
            bounds.score[some] = self.mean_of_arms[some] + bounds.width * deviation
        bounds.computed_at[arms] = self.pulled


def together(pulls: Sequence[Pull]) -> tuple[Tensor, Tensor]:
    """Arms (k,) of pulls, and how often each was pulled (k,)."""
    arms, times = [pull.arm for pull in pulls], [pull.times for pull in pulls]
    return torch.tensor(arms, dtype=torch.int64), torch.tensor(times, dtype=torch.float64)


def _highest(score: Tensor, number: int) -> Tensor:
    """Indices (n,) of the highest scores, or of all where there are no more."""
    if number < len(score):
        return score.topk(number).indices
    return torch.arange(len(score), device=score.device)

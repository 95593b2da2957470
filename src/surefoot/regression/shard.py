"""One part of the arms in a worker process: its table, its variances and its posteriors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal.numbers import ROWS_AT_ONCE
from surefoot._internal.process_settings import with_own_settings
from surefoot.regression.arm_posterior import ArmPosterior
from surefoot.regression.embedding import Embedding
from surefoot.regression.posterior import FeaturePosterior
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.room import Room
from surefoot.regression.table import LocalValues, Table
from surefoot.regression.units import RewardUnits

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.spaces import Arms

Command = tuple[Any, ...]
"""Name of a method of `Shard`, and its arguments."""


class Best(NamedTuple):
    """The best arm of a part.

    Args:
        score: Its upper confidence bound; minus infinity where no arm of the part is allowed.
        arm: Its index among all arms.
    """

    score: float
    arm: int


class Unknown(Exception):
    """A key of something that this part has lost, or never had."""


class Shard:
    """The arms from one index on, in a worker.

    Tables, variances and posteriors have keys, by which the driver refers to them.

    Args:
        arms: The arms of this part.
        first: Index of the first one among all arms.
        kernel: The prior covariance.
    """

    def __init__(self, arms: Arms, first: int, kernel: Kernel) -> None:
        self._first = first
        self._room = Room(arms, kernels.diagonal(kernel, arms.points).detach())
        self._known: dict[int, Any] = {}

    @with_own_settings
    def run(self, commands: list[Command]) -> Any:
        """Run commands in order.

        What depends on something that was lost is left out: the driver sends it again where it is
        needed.

        Args:
            commands: The commands.

        Returns:
            The result of the last one, None if it depends on something that was lost.
        """
        result = None
        for name, *arguments in commands:
            try:
                result = getattr(self, name)(*arguments)
            except Unknown:
                result = None
        return result

    def drop(self, key: int) -> None:
        """Forget something."""
        self._known.pop(key, None)

    def table(self, key: int, embedding: Embedding) -> None:
        """The features of a map."""
        self._known[key] = self._room.table(embedding)

    def growing(self, key: int, embedding: Embedding) -> None:
        """The features of a map which points are to join."""
        self._known[key] = self._room.growing(embedding)

    def join(
        self,
        key: int,
        before: int,
        embedding: Embedding,
        point: Tensor,
        known: Tensor,
        left: float,
        members: list[int],
    ) -> None:
        """The features of a map with one more; see `ArmTable.joined`."""
        own = range(self._first, self._first + len(self._room.arms))
        here = [arm - self._first for arm in members if arm in own]
        self._known[key] = self._get(before).joined(embedding, point, known, left, here)

    def values(self, key: int, table: int) -> None:
        """The variance before the first pull."""
        self._known[key] = self._get(table).values()

    def fall(self, key: int, solved: Tensor, drop: float) -> None:
        """Lower the variance by a step."""
        self._get(key).fall(solved, drop)

    def extend(self, key: int, table: int) -> None:
        """Go on in a table with one more feature."""
        self._get(key).extend(self._get(table))

    def refresh(self, key: int, table: int, factor: RidgeFactor) -> None:
        """The variance of a factor."""
        found: Table = self._get(table)
        self._known[key] = LocalValues(found, found.variance(factor))

    def posterior(
        self, key: int, values: int, theta: Tensor, units: RewardUnits, factor: RidgeFactor
    ) -> None:
        """The posterior of coefficients, with the variance as it is kept."""
        self._known[key] = self._get(values).posterior(factor, theta, units, is_own=True)

    def posterior_of(
        self, key: int, table: int, theta: Tensor, units: RewardUnits, factor: RidgeFactor
    ) -> None:
        """The posterior of coefficients, with the variance of a factor."""
        self._known[key] = self._get(table).values().posterior(factor, theta, units, is_own=False)

    def best(
        self,
        key: int,
        width: float,
        among: Tensor | None,
        pulled: int,
        fallen: Tensor,
        chain: int,
    ) -> Best:
        """The best arm of the part, given pulls without rewards; see `ArmPosterior`.

        Args:
            key: The posterior.
            width: Multiplier of the standard deviation.
            among: Indices (n,) of the only arms to choose from, among all arms.
            pulled: Number of pulls without rewards.
            fallen: What they make the variance fall by, (m, m).
            chain: A number that posteriors have in common of which each has a pull more.
        """
        posterior: ArmPosterior = self._get(key)
        if pulled:
            posterior = posterior.after(pulled, fallen, chain)
        here = None
        if among is not None:
            here = among[(among >= self._first) & (among < self._first + len(self._room.arms))]
            if not len(here):
                return Best(-torch.inf, -1)
            here = here - self._first
        arm = posterior.best_arm(width, here)
        return Best(posterior.bound_of(arm, width), self._first + arm)

    def best_given(self, posterior: FeaturePosterior, width: float, among: Tensor | None) -> Best:
        """The best arm of the part by a posterior that is evaluated at its points."""
        points, best = self._room.arms.points, Best(-torch.inf, -1)
        for start in range(0, len(points), ROWS_AT_ONCE):
            mean, deviation = posterior.mean_and_deviation(points[start : start + ROWS_AT_ONCE])
            score = mean + width * deviation
            if among is not None:
                allowed = torch.arange(start, start + len(score)) + self._first
                score[~torch.isin(allowed, among)] = -torch.inf
            arm = int(score.argmax())
            if float(score[arm]) > best.score:
                best = Best(float(score[arm]), self._first + start + arm)
        return best

    def top(self, key: int, width: float, number: int) -> tuple[Tensor, Tensor]:
        """Largest bounds (n,) of arms of the part, and the indices (n,) of these."""
        posterior: ArmPosterior = self._get(key)
        arms, scores = posterior.top(width, number)
        return scores, arms + self._first

    def _get(self, key: int) -> Any:
        if key not in self._known:
            raise Unknown(key)
        return self._known[key]


def stripped(factor: RidgeFactor) -> RidgeFactor:
    """A factor without what follows from V, to be sent."""
    return replace(factor, known_inverse=None, known_gain=None)

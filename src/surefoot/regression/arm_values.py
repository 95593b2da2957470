"""Variance of all arms, and the posteriors that follow from it, wherever their table is."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from surefoot.regression.embedding import Embedding
from surefoot.regression.posterior import Posterior
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.units import RewardUnits

MOST_STEPS = 64  # rank-one updates that are taken together
Steps = list[tuple[Tensor, float]]
"""Directions (m,) and rates of rank-one updates."""


class TabulatedPosterior(Posterior, Protocol):
    """A posterior at all arms."""

    @property
    def as_redrawn(self) -> TabulatedPosterior:
        """The same where pulls without rewards are conditioned on with their residual."""


class StartVariance(Protocol):
    """Variance of the arms at some time, to look up."""

    def at(self, arms: Tensor) -> Tensor:  # (n,) -> (n,)
        """Variance of several arms, in main memory."""

    def of(self, arm: int) -> float:
        """Variance of an arm."""

    def within(self, table: Any) -> StartVariance:
        """The same with the table of the features that it is in, which is not saved."""


class ArmTable(Embedding, Protocol):
    """Features of all arms: it answers rows, and what changes with a pull or an estimate."""

    @property
    def embedding(self) -> Embedding:
        """The feature map, for points that are no arms."""

    @property
    def points(self) -> Tensor:
        """The arms (A, d)."""

    @property
    def largest(self) -> float:
        """Largest prior variance of an arm."""

    def at(self, arms: int | Tensor) -> Tensor:
        """Features (m,) of an arm, or (n, m) of several."""

    def prior_at(self, arms: int | Tensor) -> Tensor:
        """k(x, x) of an arm, or (n,) of several."""

    def joined(
        self, embedding: Embedding, point: Tensor, known: Tensor, left: float, members: list[int]
    ) -> ArmTable:
        """The table of a map with one more feature, by a point that joins the dictionary.

        Args:
            embedding: The map.
            point: The point (1, d).
            known: Its features (m,) so far.
            left: What these leave of its prior variance.
            members: Arms in the dictionary, where the new feature is 0.
        """

    def values(self) -> ArmValues:
        """Variance of the arms before the first pull."""

    def start(self, factor: RidgeFactor) -> StartVariance:
        """Variance of the arms for a factor."""


class ArmValues(Protocol):
    """Variance of all arms, kept up to date by rank-one updates.

    These are taken when a posterior is asked for, with its mean, in one reading of the table.
    """

    table: Any  # an `ArmTable`, of the kind that the values go with

    @property
    def is_crowded(self) -> bool:
        """Whether so many updates wait that the variance should be found from the factor."""

    def fall(self, solved: Tensor, drop: float) -> None:
        """Lower the variance by a step: drop (phi(x)' solved)^2."""

    def extend(self, table: Any) -> None:
        """Go on in a table with one more feature."""

    def refresh(self, factor: RidgeFactor) -> None:
        """Find the variance from a factor."""

    def at(self, arms: int | Tensor) -> Tensor:
        """Variance of an arm, or (n,) of several, as of the last posterior."""

    def start(self) -> StartVariance:
        """Variance as of the last posterior, to look up."""

    def posterior(
        self, factor: RidgeFactor, coefficients: Tensor, units: RewardUnits, *, is_own: bool
    ) -> TabulatedPosterior:
        """The posterior of coefficients.

        Args:
            factor: V of the rewards.
            coefficients: theta (m,), in main memory.
            units: Prior mean and output scale.
            is_own: Whether the factor is that of all pulls, by which the variance is kept.
        """


def extended(steps: Steps) -> Steps:
    """Steps in one more feature, in which they have no part."""
    return [(torch.cat([solved, solved.new_zeros(1)]), drop) for solved, drop in steps]

"""Standardised reward units: the location and scale in which the model sees the rewards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from surefoot.regression.transforms import UNCHANGED, Affine, Chain

MAX_DEVIATIONS = 1e6  # standardised rewards are clamped to +- this many


@dataclass(frozen=True)
class RewardUnits:
    """Chain of transformations from reward units to the standardised units of the model.

    Args:
        center: Location, in reward units; it becomes 0.
        scale: Scale, in reward units, above 0; it becomes 1.
        empirical: Whether `center` and `scale` only standardise the rewards, so that an estimator
            may add an empirical-Bayes prior mean and output scale.
        warp: Transformation of the rewards before; `center` and `scale` are of warped ones.

    Example:
        >>> import torch
        >>> units = RewardUnits(center=10.0, scale=2.0)
        >>> units.transform(torch.tensor([12.0, 1e9])).tolist()
        [1.0, 1000000.0]
        >>> RewardUnits().is_identity
        True
    """

    center: float = 0.0
    scale: float = 1.0
    empirical: bool = False
    warp: Chain = UNCHANGED

    @cached_property
    def chain(self) -> Chain:
        """The transformation, without the limit of `transform`."""
        return self.warp.then(Affine(self.center, self.scale))

    @property
    def is_identity(self) -> bool:
        """Whether the standardised units are those of the rewards."""
        return self.center == 0.0 and self.scale == 1.0 and self.warp.is_identity

    def transform(self, rewards: Tensor) -> Tensor:
        """Standardise rewards, clamped to a million scales.

        A value so far out is a sentinel or an overflow, and its size carries no information.

        Args:
            rewards: Rewards (t,), in reward units.

        Returns:
            (warp(rewards) - center) / scale as (t,), clamped to +-`MAX_DEVIATIONS`; the tensor that
            was passed, unclamped, where the units are the rewards' own.
        """
        if self.is_identity:
            return rewards
        return self.chain(rewards).clamp(-MAX_DEVIATIONS, MAX_DEVIATIONS)

    def transform_value(self, reward: float) -> float:
        """Standardise one reward, as `transform` does."""
        if self.is_identity:
            return reward
        return float(self.transform(torch.tensor(reward, dtype=torch.float64)))

    def error_variances(self, rewards: Tensor, sems: Tensor) -> Tensor:
        """Squared standard errors in squared standardised units, to first order.

        Args:
            rewards: Rewards (t,), in reward units.
            sems: Their standard errors (t,), in reward units.

        Returns:
            Variances (t,), of at most `MAX_DEVIATIONS` squared unless the units are the rewards'
            own.
        """
        if self.is_identity:
            return sems.square()
        return self.chain.errors(rewards, sems).clamp_max(MAX_DEVIATIONS).square()

    def within(self, center: float, scale: float) -> RewardUnits:
        """The units whose location and scale are `center` and `scale` in these."""
        return RewardUnits(self.center + self.scale * center, self.scale * scale, warp=self.warp)

"""Standardised reward units: the location and scale in which the model sees the rewards."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

MAX_DEVIATIONS = 1e6  # standardised rewards are clamped to +- this many


@dataclass(frozen=True)
class RewardUnits:
    """Affine transform from reward units to the standardised units of the model.

    Args:
        center: Location, in reward units; it becomes 0.
        scale: Scale, in reward units, above 0; it becomes 1.
        empirical: Whether `center` and `scale` only standardise the rewards, so that an estimator
            may add an empirical-Bayes prior mean and output scale.

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

    @property
    def is_identity(self) -> bool:
        """Whether the standardised units are those of the rewards."""
        return self.center == 0.0 and self.scale == 1.0

    def transform(self, rewards: Tensor) -> Tensor:
        """Standardise rewards, clamped to a million scales.

        A value so far out is a sentinel or an overflow, and its size carries no information.

        Args:
            rewards: Rewards (t,), in reward units.

        Returns:
            (rewards - center) / scale as (t,), clamped to +-`MAX_DEVIATIONS`; the tensor that was
            passed, unclamped, where the units are the rewards' own.
        """
        if self.is_identity:
            return rewards
        return ((rewards - self.center) / self.scale).clamp(-MAX_DEVIATIONS, MAX_DEVIATIONS)

    def transform_value(self, reward: float) -> float:
        """Standardise one reward, as `transform` does."""
        if self.is_identity:
            return reward
        value = (reward - self.center) / self.scale
        return min(max(value, -MAX_DEVIATIONS), MAX_DEVIATIONS)

    def within(self, center: float, scale: float) -> RewardUnits:
        """The units whose location and scale are `center` and `scale` in these."""
        return RewardUnits(self.center + self.scale * center, self.scale * scale)

"""The units in which the model sees rewards."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

MAX_DEVIATIONS = 1e6


@dataclass(frozen=True)
class RewardUnits:
    """An affine change of units, clipped at a million deviations: (y - center) / scale.

    A measurement a million deviations away (a sentinel, an overflow) carries no more information
    than that it is far away.

    Args:
        center: Origin, in reward units.
        scale: Positive unit, in reward units.
        empirical: Whether `center` and `scale` only standardize the rewards, so that an estimator
            may replace them by an empirical-Bayes prior mean and output scale.
    """

    center: float = 0.0
    scale: float = 1.0
    empirical: bool = False

    @property
    def is_identity(self) -> bool:
        """Whether rewards stay as they are."""
        return self.center == 0.0 and self.scale == 1.0

    def transform(self, rewards: Tensor) -> Tensor:
        """Rewards (t,) in these units; the same tensor under the identity."""
        if self.is_identity:
            return rewards
        return ((rewards - self.center) / self.scale).clamp(-MAX_DEVIATIONS, MAX_DEVIATIONS)

    def transform_value(self, reward: float) -> float:
        """One reward in these units."""
        if self.is_identity:
            return reward
        value = (reward - self.center) / self.scale
        return min(max(value, -MAX_DEVIATIONS), MAX_DEVIATIONS)

    def within(self, center: float, scale: float) -> RewardUnits:
        """The units whose origin and unit are `center` and `scale` in these."""
        return RewardUnits(self.center + self.scale * center, self.scale * scale)

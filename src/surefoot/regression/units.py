"""Standardised reward units: the location and scale in which the model sees the rewards."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

MAX_DEVIATIONS = 1e6  # standardised rewards are clamped to +- this many
_MAX_KNEES = 300.0  # of a warped value, whose inverse would overflow


@dataclass(frozen=True)
class Warp:
    r"""Monotone transformation of rewards that compresses those far from the anchor.

    .. math:: w(y) = a + b \operatorname{asinh}((y - a) / b)

    Close to the anchor a it is the identity, and logarithmic beyond the knee b, so that rewards
    that span decades, or whose noise grows with their size, become alike.

    Args:
        anchor: The reward a that stays as it is.
        knee: The distance b from the anchor at which compression begins; infinite for none.

    References:
        Burbidge, Magee and Robb 1988, "Alternative transformations to handle extreme values of
        the dependent variable"; Snelson, Rasmussen and Ghahramani 2004, "Warped Gaussian
        processes".

    Example:
        >>> import torch
        >>> warp = Warp(anchor=10.0, knee=1.0)
        >>> warp(torch.tensor([10.0, -990.0], dtype=torch.float64)).round(decimals=2).tolist()
        [10.0, 2.4]
        >>> round(warp.inverse(torch.tensor([2.4], dtype=torch.float64)).item())
        -989
    """

    anchor: float = 0.0
    knee: float = math.inf

    @property
    def is_identity(self) -> bool:
        """Whether rewards stay as they are."""
        return self.knee == math.inf

    def __call__(self, rewards: Tensor) -> Tensor:
        """Warped rewards (...)."""
        if self.is_identity:
            return rewards
        return self.anchor + self.knee * torch.asinh((rewards - self.anchor) / self.knee)

    def inverse(self, warped: Tensor) -> Tensor:
        """The rewards (...) that become these."""
        if self.is_identity:
            return warped
        knees = ((warped - self.anchor) / self.knee).clamp(-_MAX_KNEES, _MAX_KNEES)
        return self.anchor + self.knee * torch.sinh(knees)

    def log_slope(self, rewards: Tensor) -> Tensor:
        """Logarithm of the derivative at rewards (...)."""
        if self.is_identity:
            return torch.zeros_like(rewards)
        return -0.5 * torch.log1p(((rewards - self.anchor) / self.knee).square())


IDENTITY = Warp()


@dataclass(frozen=True)
class BackTransformation:
    """Monotone map from values of the model, as rewards are transformed, to the units of a user.

    Args:
        warp: The transformation of the rewards.
        sign: 1.0 where the user's values are maximised, -1.0 where they are minimised.
        log: Whether the rewards are logarithms of the user's values, with that sign.

    Example:
        >>> import torch
        >>> BackTransformation(sign=-1.0, log=True)(torch.zeros(1)).tolist()
        [1.0]
    """

    warp: Warp = IDENTITY
    sign: float = 1.0
    log: bool = False

    def __call__(self, values: Tensor) -> Tensor:
        """The values (...) in the units of the user."""
        found = self.sign * self.warp.inverse(values)
        return found.exp() if self.log else found

    def slope(self, values: Tensor) -> Tensor:
        """The derivative at values (...)."""
        rewards = self.warp.inverse(values)
        slope = self.sign * (-self.warp.log_slope(rewards)).exp()
        return slope * self(values) if self.log else slope

    @property
    def is_affine(self) -> bool:
        """Whether a shift of the values stays the same shift, up to the sign."""
        return self.warp.is_identity and not self.log


@dataclass(frozen=True)
class RewardUnits:
    """Transform from reward units to the standardised units of the model.

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
    warp: Warp = IDENTITY

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
        return ((self.warp(rewards) - self.center) / self.scale).clamp(
            -MAX_DEVIATIONS, MAX_DEVIATIONS
        )

    def transform_value(self, reward: float) -> float:
        """Standardise one reward, as `transform` does."""
        if self.is_identity:
            return reward
        if not self.warp.is_identity:
            reward = float(self.warp(torch.tensor(reward, dtype=torch.float64)))
        value = (reward - self.center) / self.scale
        return min(max(value, -MAX_DEVIATIONS), MAX_DEVIATIONS)

    def error_variances(self, rewards: Tensor, sems: Tensor) -> Tensor:
        """Squared standard errors in squared standardised units.

        Where rewards are warped, the errors are scaled by the slope of the warp at the rewards.

        Args:
            rewards: Rewards (t,), in reward units.
            sems: Their standard errors (t,), in reward units.

        Returns:
            Variances (t,), of at most `MAX_DEVIATIONS` squared unless the units are the rewards'
            own.
        """
        if self.is_identity:
            return sems.square()
        errors = self.warp.log_slope(rewards).exp() * sems / self.scale
        return errors.clamp_max(MAX_DEVIATIONS).square()

    def within(self, center: float, scale: float) -> RewardUnits:
        """The units whose location and scale are `center` and `scale` in these."""
        center = self.center + self.scale * center
        return RewardUnits(center, self.scale * scale, warp=self.warp)

"""The values of a function at points, before rewards and given them, for known hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot.hyperparameters.evidence import Evidence, Hyperparameters
from surefoot.hyperparameters.microscale import same_points


@dataclass(frozen=True, eq=False)
class Prior:
    """The values at points before any reward.

    Args:
        evidence: Evidence of the hyperparameters.
        points: The points (p, d).
        model: Hyperparameters.
        own: Variance of the microscale variation.
        level: Variance of the reference level of the effects.
    """

    evidence: Evidence
    points: Tensor
    model: Hyperparameters
    own: float
    level: float

    @property
    def variance(self) -> float:
        """The same at every point."""
        return self.model.variance + self.own + self.level

    @property
    def covariance(self) -> Tensor:
        """Covariance (p, p)."""
        smooth = self.evidence.between(self.model, self.points, self.points) + self.level
        if self.own == 0.0:
            return smooth
        return smooth + self.own * same_points(self.points, self.points)


@dataclass(frozen=True, eq=False)
class Conditional:
    """The values at points, given rewards and hyperparameters.

    Args:
        mean: Their means (p,).
        prior: What they were before.
        across: Their covariance (p, n) with the rewards.
        solved: The same times the inverse covariance of the rewards.
        unknown_mean: Deviation (p,) that the unknown prior mean adds.
    """

    mean: Tensor
    prior: Prior
    across: Tensor
    solved: Tensor
    unknown_mean: Tensor

    @property
    def variance(self) -> Tensor:
        """Variance (p,)."""
        alone = self.prior.variance - (self.solved * self.across).sum(-1)
        return alone.clamp_min(0.0) + self.unknown_mean.square()

    @property
    def covariance(self) -> Tensor:
        """Covariance (p, p)."""
        alone = self.prior.covariance - self.solved @ self.across.T
        covariance = alone + torch.outer(self.unknown_mean, self.unknown_mean)
        return (covariance + covariance.T) / 2.0

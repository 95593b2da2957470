"""Hyperparameters that were fitted to observations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from surefoot._internal.brief import brief
from surefoot._internal.tensors import NO_INDICES
from surefoot.hyperparameters.earlier import NO_TREND, NoTrend, Trend
from surefoot.hyperparameters.evidence import Hyperparameters
from surefoot.hyperparameters.nuisance_effects import NO_EFFECTS, EstimatedEffects
from surefoot.hyperparameters.training_data import NO_TIMES, NO_WORKERS
from surefoot.regression.draws import Path
from surefoot.regression.observations import Conditions
from surefoot.regression.posterior import no_trend
from surefoot.regression.transforms import UNCHANGED, Chain
from surefoot.regression.units import RewardUnits

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


"""Of a fit whose hyperparameters have the evidence of all rewards."""


@dataclass(frozen=True, eq=False)
class LocalOptimum:
    """State of one ascent of the variational bound.

    Args:
        model: Hyperparameters.
        dof: Degrees of freedom of the noise.
        shift: Prior mean.
        weights: Precisions (n,) of the rewards, relative to the noise.
        bound: The variational bound, once the ascent has ended.
        family: Name of the kernel of that bound.
    """

    model: Hyperparameters
    dof: float
    shift: float
    weights: Tensor
    bound: float = -math.inf
    family: str = ""


@dataclass(frozen=True, eq=False)
class Fitted:
    """Hyperparameters fitted to observations, in standardised reward units.

    Standardised rewards are (y - `center`) / `scale`. They are f(x) plus Student-t noise with
    `dof` degrees of freedom and squared scale `noise`, where f has prior covariance `kernel`.

    Args:
        kernel: GPyTorch kernel of the coordinates as they were passed to the fit.
        noise: Squared scale of the noise, in standardised units.
        dof: Degrees of freedom of the noise; infinite where none were fitted.
        center: Prior mean of f, in reward units.
        scale: Unit of the standardised rewards, in reward units.
        weights: Precisions (t,) of the rewards relative to 1 / `noise`, near 1 for inliers and
            near 0 for outliers.
        empirical: Whether `center` and `scale` are only the location and scale of the rewards, so
            that an estimator may add an empirical-Bayes prior mean and output scale.
        warp: Transformation of the rewards before; `center` and `scale` are of warped ones.
        effects: Effects of the conditions under which rewards were measured, in standardised
            units.
        rivals: Other local maxima of the variational bound.
        others: Local maxima with kernels of other smoothness.
        part: Indices (k,) of the rewards at a narrow maximum and about it, whose evidence alone
            the hyperparameters have; none where they have that of all.
        trend: Prior mean beside the constant one, in reward units; all else is of the rewards less
            that, and without a transformation.
    """

    kernel: Kernel
    noise: float
    dof: float
    center: float
    scale: float
    weights: Tensor
    empirical: bool = False
    warp: Chain = UNCHANGED
    effects: EstimatedEffects = NO_EFFECTS
    rivals: Sequence[LocalOptimum] = ()
    others: Sequence[LocalOptimum] = ()
    part: Tensor = NO_INDICES
    trend: Trend | NoTrend = NO_TREND

    __repr__ = brief

    @property
    def units(self) -> RewardUnits:
        """The standardised units."""
        return RewardUnits(self.center, self.scale, self.empirical, self.warp)

    @property
    def prior_mean(self) -> Path:
        """The trend as a function, points (n, d) -> (n,)."""
        return no_trend if self.trend.is_none else self.trend

    def offsets(self, points: Tensor) -> Tensor | float:
        """By how much rewards of lower levels of fidelity at points (n, d) differ, as transformed.

        What is predicted of them is the function plus these (n,).
        """
        if self.effects.is_none:
            return 0.0
        under = Conditions(
            NO_WORKERS.expand(len(points)), NO_TIMES.expand(len(points)), points.cpu()
        )
        return self.scale * (self.effects.offsets(under) + self.effects.level)

    def without_effects(self, rewards: Tensor, under: Conditions) -> Tensor:
        """Rewards as they would have been at the reference level of the effects of conditions.

        Args:
            rewards: Rewards (t,), in reward units.
            under: Their conditions.

        Returns:
            Rewards (t,), in reward units.
        """
        if self.effects.is_none:
            return rewards
        offsets = self.scale * self.effects.offsets(under).to(rewards)
        return self.warp.inverse(self.warp(rewards) - offsets)

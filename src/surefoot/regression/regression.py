"""The geometry of a run, which knows nothing of the rewards, and the estimate from these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from surefoot._internal.brief import brief
from surefoot._internal.tensors import NO_VALUES
from surefoot.regression.observations import Observations, Pull
from surefoot.regression.posterior import Posterior
from surefoot.regression.sample import Sample
from surefoot.regression.units import RewardUnits

OUTLIER_WEIGHT = 0.5
"""A reward of less weight in the estimate counts as an outlier."""


@dataclass(eq=False)
class Estimate:
    """Coefficients, and how many rewards each site is worth.

    Args:
        coefficients: theta (m,).
        counts: Weight of the rewards at each site (S,), where rejected ones carry no information
            (`StudentT`); empty where each counts as one, as for the estimators that a theorem
            covers.
        threshold: The absolute residual at which a reward starts to lose weight, in the units of
            the sample; infinite for least squares.
        truncated: How many rewards lost more than half of their weight.
        last_truncated: Whether the last one did.
        prior_mean: Empirical-Bayes mean of the prior, in the units of the sample.
        prior_scale: Empirical-Bayes scale of the prior, of which the coefficients are multiples.
    """

    coefficients: Tensor
    counts: Tensor = NO_VALUES
    threshold: float = math.inf
    truncated: int = 0
    last_truncated: bool = False
    prior_mean: float = 0.0
    prior_scale: float = 1.0

    __repr__ = brief

    def prior_units(self, units: RewardUnits) -> RewardUnits:
        """Prior mean and output scale as units, from those of the sample."""
        if self.prior_mean == 0.0 and self.prior_scale == 1.0:
            return units
        return units.within(self.prior_mean, self.prior_scale)


class Regression(Protocol):
    """Ridge regression in features of one kind, kept up to date as points are measured.

    A regression is `batched` where points are chosen in batches: it then counts pulls when they
    are chosen, and features and estimate stay until `is_due`.
    """

    @property
    def batched(self) -> bool:
        """Whether pulls count when they are chosen."""

    @property
    def max_dimension(self) -> int:
        """The largest number of features that there can be."""

    @property
    def is_due(self) -> bool:
        """Whether the features are due to be chosen again."""

    def update(self, pull: Pull) -> None:
        """Count pulls of one point.

        Args:
            pull: The point and how often it was pulled, negative to take pulls back.
        """

    def redrawn(self, observations: Observations, generator: torch.Generator) -> Regression:
        """The regression with features chosen again from the pulls so far; itself if they stay.

        Args:
            observations: The rewards.
            generator: Source of the draws, of this time and of later ones.
        """

    def current(self, observations: Observations) -> Regression:
        """This regression with all rewarded pulls in its factor, without choosing features."""

    def with_ridges(self, ridges: Sequence[float]) -> tuple[Regression, ...]:
        """Regressions in the same features and of the same pulls with other regularisations.

        None where features change so often that nothing can be kept up to date.
        """

    def sample(self, observations: Observations, units: RewardUnits) -> Sample:
        """Input of an estimator.

        Args:
            observations: The rewards, in their own units.
            units: The units of the model.

        Returns:
            Features of the sites, the factor of the pulls, and the rewards.
        """

    def posterior(self, sample: Sample, estimate: Estimate) -> Posterior:
        """The posterior of an estimate.

        Args:
            sample: What the estimate was made from.
            estimate: The coefficients.

        Returns:
            The posterior, in reward units.
        """

    def kept(self, posterior: Posterior | None, sample: Sample, estimate: Estimate) -> Posterior:
        """A posterior that was saved, or the one of the estimate where none was."""

"""The geometry of a run: it knows where was measured, and nothing of the rewards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from surefoot.regression.observations import Observations, Pull
from surefoot.regression.posterior import Posterior
from surefoot.regression.sample import Sample
from surefoot.regression.units import RewardUnits


class Regression(Protocol):
    """Ridge regression in features of one kind, kept up to date as points are measured.

    A regression is `batched` where points are chosen in batches: it then counts pulls when they
    are chosen, and features and estimate stay until `is_due`.
    """

    @property
    def batched(self) -> bool:
        """Whether pulls count when they are chosen."""
        ...

    @property
    def max_dimension(self) -> int:
        """The largest number of features that there can be."""
        ...

    @property
    def is_due(self) -> bool:
        """Whether the features are due to be chosen again."""
        ...

    def update(self, pull: Pull) -> None:
        """Count pulls of one point.

        Args:
            pull: The point and how often it was pulled, negative to take pulls back.
        """
        ...

    def redrawn(self, observations: Observations, generator: torch.Generator) -> Regression:
        """The regression with features chosen again from the pulls so far; itself if they stay.

        Args:
            observations: The rewards.
            generator: Source of the draws, of this time and of later ones.
        """
        ...

    def current(self, observations: Observations) -> Regression:
        """This regression with all rewarded pulls in its factor, without choosing features."""
        ...

    def with_ridges(self, ridges: Sequence[float]) -> tuple[Regression, ...]:
        """Regressions in the same features and of the same pulls with other regularisations.

        None where features change so often that nothing can be kept up to date.
        """
        ...

    def sample(self, observations: Observations, units: RewardUnits) -> Sample:
        """Input of an estimator.

        Args:
            observations: The rewards, in their own units.
            units: The units of the model.

        Returns:
            Features of the sites, the factor of the pulls, and the rewards.
        """
        ...

    def posterior(self, sample: Sample, estimate: Estimate) -> Posterior:
        """The posterior of an estimate.

        Args:
            sample: What the estimate was made from.
            estimate: The coefficients.

        Returns:
            The posterior, in reward units.
        """
        ...

    def kept(self, posterior: Posterior | None, sample: Sample, estimate: Estimate) -> Posterior:
        """A posterior that was saved, or the one of the estimate where none was."""
        ...


class Estimate(Protocol):
    """Estimate as a regression needs it."""

    @property
    def coefficients(self) -> Tensor:
        """theta (m,)."""
        ...

    @property
    def counts(self) -> Tensor:
        """Weight of the rewards at each site (S,); empty where each counts as one."""
        ...

    def prior_units(self, units: RewardUnits) -> RewardUnits:
        """Prior mean and output scale, as units, from those of the sample."""
        ...

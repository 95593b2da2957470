"""Uncertainty of the hyperparameters of a posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from surefoot.hyperparameters.cross_validation import NOT_VALIDATED, CrossValidation
from surefoot.regression.posterior import Moments, Posterior, joint, joint_draws


class Correction(NamedTuple):
    """Change of a posterior by integration over the hyperparameters.

    Args:
        mean: To be added to the mean (n,).
        variance: To be added to the variance (n,).
    """

    mean: Tensor
    variance: Tensor


class Uncertainty(Protocol):
    """Uncertainty of the hyperparameters of a posterior."""

    def __call__(self, points: Tensor) -> Correction:
        """Change of mean and variance at points (n, d) by integration over them."""
        ...

    def mean(self, points: Tensor) -> Tensor:
        """Change of the mean (n,) alone, which takes a small part of the time."""
        ...

    @property
    def smooth(self) -> Uncertainty:
        """The same for the function itself, without microscale variation at single points."""
        ...

    def covariance(self, points: Tensor) -> Tensor:
        """Term (n, n) that integration over them adds to the covariance at points (n, d).

        Where points are together, as in a difference of two values.
        """
        ...

    def components(self, posterior: Posterior, points: Tensor) -> Moments:
        """Joint posteriors (..., s, q) under s samples of them, at points (..., q, d).

        Args:
            posterior: The posterior at the most likely hyperparameters.
            points: The points.
        """
        ...

    def draws(
        self, posterior: Posterior, points: Tensor, number: int, generator: torch.Generator
    ) -> Tensor:
        """Values (n, number) at points (n, d) of functions drawn from the integrated posterior.

        Args:
            posterior: The posterior at the most likely hyperparameters.
            points: The points (n, d).
            number: Number of functions.
            generator: Source of all randomness.
        """
        ...

    def cross_validation(self) -> CrossValidation:
        """How well the most likely hyperparameters predict each reward from the others."""
        ...


@dataclass(frozen=True)
class Certain:
    """Hyperparameters that are known, or taken as known."""

    def __call__(self, points: Tensor) -> Correction:
        """No correction."""
        return Correction(points.new_zeros(len(points)), points.new_zeros(len(points)))

    def mean(self, points: Tensor) -> Tensor:
        """No correction."""
        return points.new_zeros(len(points))

    @property
    def smooth(self) -> Certain:
        """The same."""
        return self

    def covariance(self, points: Tensor) -> Tensor:
        """No correction."""
        return points.new_zeros(len(points), len(points))

    def components(self, posterior: Posterior, points: Tensor) -> Moments:
        """The posterior itself, as the only one."""
        return joint(posterior, points.unsqueeze(-3))

    def draws(
        self, posterior: Posterior, points: Tensor, number: int, generator: torch.Generator
    ) -> Tensor:
        """Values (n, number) of functions drawn from the posterior itself."""
        return joint_draws(posterior, points, number, generator)

    def cross_validation(self) -> CrossValidation:
        """None: what is taken as known is not doubted."""
        return NOT_VALIDATED

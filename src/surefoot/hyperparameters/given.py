"""Given hyperparameters, and the units of the rewards."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from surefoot import kernels
from surefoot._internal import checks
from surefoot._internal.numbers import NEW_SHARE
from surefoot.hyperparameters.fitted import Fitted
from surefoot.hyperparameters.training_data import MOST_TOGETHER, TrainingData
from surefoot.regression.noise import NO_KNOWN_NOISE, Contrast, KnownNoise, check_known_noise
from surefoot.regression.spread import robust_spread
from surefoot.regression.uncertainty import CERTAIN_HYPERPARAMETERS, Uncertainty

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


@dataclass(frozen=True, eq=False)
class GivenHyperparameters:
    """A kernel and a ridge that stay, with rewards as they are or standardised.

    Args:
        kernel: The prior covariance.
        ridge: Regularisation, the noise variance in the units of the model.
        standardise: Whether rewards are centred by their median and scaled by their MAD.
        known_noise: Known part of the noise, which may depend on the point.

    Raises:
        InvalidInput: If an argument is none of these.
    """

    kernel: Kernel
    ridge: float
    standardise: bool = False
    known_noise: KnownNoise = NO_KNOWN_NOISE

    lasting = True
    effects = ()

    def __post_init__(self) -> None:
        kernels.check(self.kernel)
        checks.positive("ridge", self.ridge)
        checks.truth("standardise", self.standardise)
        check_known_noise(self.known_noise)

    def next_due(self, fitted_at: int) -> float:
        """Number of rewards at which the next fit is due, given that at the last one."""
        if fitted_at and not self.standardise:
            return math.inf
        if fitted_at > MOST_TOGETHER:
            return math.floor(fitted_at * (1.0 + NEW_SHARE)) + 1
        return fitted_at + 1

    def fit(self, data: TrainingData) -> Fitted:
        """The kernel and the ridge, in the units of the rewards."""
        center, scale = 0.0, 1.0
        if self.standardise and len(data.rewards):
            center = float(data.rewards.median())
            scale = robust_spread(data.rewards, errors=data.sems)
        none = torch.ones(0, dtype=torch.float64)
        return Fitted(  # infinite degrees of freedom: an estimator has its own
            self.kernel, self.ridge, math.inf, center, scale, none, empirical=self.standardise
        )

    def contrasts(self, fitted: Fitted, data: TrainingData) -> dict[str, Contrast]:
        """No effects of conditions: none are fitted."""
        return {}

    def alternative(
        self, fitted: Fitted, data: TrainingData
    ) -> tuple[GivenHyperparameters, Fitted]:
        """The given hyperparameters: there is no alternative."""
        return self, fitted

    def uncertainty(self, fitted: Fitted, data: TrainingData) -> Uncertainty:
        """No correction: kernel and ridge are given."""
        return CERTAIN_HYPERPARAMETERS

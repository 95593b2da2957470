"""Leave-one-out cross-validation of a fitted model."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_LEAST_NUMBER = 30  # of rewards; of fewer, predictions without one of them say little
_SIGNIFICANT = 2.0  # standard errors of the correlation of independent variables


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Rewards, and what the model predicts for each of them from all others.

    Both are as the model transforms rewards, less its prior mean.

    Args:
        rewards: Rewards (t,).
        predicted: Leave-one-out predictions (t,).
        weights: Weights (t,) of the rewards, small for outliers.

    References:
        Rasmussen and Williams 2006, "Gaussian processes for machine learning", Section 5.4.2.

    Example:
        >>> rewards = torch.linspace(-1.0, 1.0, 40, dtype=torch.float64)
        >>> CrossValidation(rewards, 0.9 * rewards, torch.ones(40)).is_predictive
        True
        >>> CrossValidation(rewards, torch.cos(20.0 * rewards), torch.ones(40)).is_predictive
        False
    """

    rewards: Tensor
    predicted: Tensor
    weights: Tensor

    @property
    def correlation(self) -> float:
        """Weighted correlation of rewards and predictions; NaN where either does not vary."""
        share = self.weights / self.weights.sum()
        both = torch.stack([self.rewards, self.predicted])
        off = both - (both * share).sum(-1, keepdim=True)
        products = (off * share) @ off.T
        return float(products[0, 1] / (products[0, 0] * products[1, 1]).sqrt())

    @property
    def is_predictive(self) -> bool:
        """Whether rewards are predicted better than by chance; True for fewer than 30.

        That is, unless their correlation with the predictions is below two standard errors.
        """
        number = len(self.rewards)
        return number < _LEAST_NUMBER or not self.correlation < _SIGNIFICANT / number**0.5


_NOTHING = torch.zeros(0, dtype=torch.float64)
NOT_VALIDATED = CrossValidation(_NOTHING, _NOTHING, _NOTHING)
"""Of a model that is taken as known."""

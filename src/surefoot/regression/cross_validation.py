"""Leave-one-out cross-validation of a fitted model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from scipy import special
from torch import Tensor

from surefoot._internal.numbers import FEWEST
from surefoot._internal.tensors import NO_ROWS, NO_VALUES
from surefoot.regression.regression import OUTLIER_WEIGHT

_NEIGHBOURS = 4  # of a point
_MOST_BELOW = 0.25  # outliers below the function for each above it, about a maximum
_IMPROBABLE = 1e-4  # where outliers are independent
_BESIDE, _MOST = 8, 3.0  # rewards near a point; deviations that an error counts at most
_LEAST_NUMBER = 30  # of rewards; of fewer, predictions without one of them say little
_SIGNIFICANT = 2.0  # standard errors of the correlation of independent variables


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Rewards, and what the model predicts for each of them from all others.

    Both are as the model transforms rewards, less its prior mean.

    Args:
        rewards: Rewards (t,).
        predicted: Leave-one-out predictions (t,).
        deviations: Standard deviations (t,) of the rewards about them.
        weights: Weights (t,) of the rewards, small for outliers.
        points: Where they were measured (t, d), on the unit cube.
        lengthscales: Lengthscales (d,) of the model.

    References:
        Rasmussen and Williams 2006, "Gaussian processes for machine learning", Section 5.4.2.

    Example:
        >>> rewards = torch.linspace(-1.0, 1.0, 40, dtype=torch.float64)
        >>> one, points = torch.ones(40), torch.linspace(0.0, 1.0, 40)[:, None]
        >>> others = one, one, points, torch.ones(1)
        >>> CrossValidation(rewards, 0.9 * rewards, *others).is_predictive
        True
        >>> CrossValidation(rewards, torch.cos(20.0 * rewards), *others).is_predictive
        False
    """

    rewards: Tensor
    predicted: Tensor
    deviations: Tensor
    weights: Tensor
    points: Tensor
    lengthscales: Tensor

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

    def bias_near(self, points: Tensor) -> Tensor:
        """How much larger rewards near some points are than their predictions, in standard errors.

        Of the eight rewards that are nearest in lengthscales; none is more than three deviations
        off, so that one outlier says little. Beyond two or three standard errors, an interval at
        the point cannot be relied on: the function has a maximum there, say, that is too narrow for
        the lengthscales. Errors of neighbours depend on each other, so that their sum deviates by
        less than that of independent ones: by 0.04 to 1 for a model that is right.

        Args:
            points: Points (n, d), on the unit cube.

        Returns:
            Sums (n,) of standardised errors over the root of their number; 0 for fewer than 30
            rewards.

        Example:
            >>> rewards, points = torch.zeros(100), torch.linspace(0.0, 1.0, 100)[:, None]
            >>> rewards[40:45] = 2.0
            >>> others = torch.ones(100), torch.ones(100), points, torch.ones(1)
            >>> found = CrossValidation(rewards, 0.0 * rewards, *others)
            >>> found.bias_near(torch.tensor([[0.42], [0.9]])).round(decimals=1).tolist()
            [3.5, 0.0]
        """
        if len(self.rewards) < _LEAST_NUMBER:
            return points.new_zeros(len(points))
        errors = ((self.rewards - self.predicted) / self.deviations).clamp(-_MOST, _MOST)
        apart = torch.cdist(points / self.lengthscales, self.points / self.lengthscales)
        return errors[apart.topk(_BESIDE, largest=False).indices].sum(-1) / _BESIDE**0.5

    @property
    def clustered(self) -> Tensor:
        """Outliers above their predictions that are beside each other, as ones of noise are not.

        The noise is independent. Rewards that were taken for its outliers and are neighbours of
        one another are probably of the function, at a maximum too narrow for the lengthscales. Of
        the four nearest neighbours of each such outlier, those that are one too are counted by
        pairs; that has a binomial distribution if each is one with the same probability. Rewards of
        one point count once, as what most of them are.
        Neighbours are near in lengthscales or, since these may be those of a wrong model, on the
        unit cube. Where there are outliers below the predictions too, the noise is larger there.

        Returns:
            Indices (k,) of those with such a neighbour; none where as many by chance have a
            probability above 1e-4.

        Example:
            >>> rewards = torch.zeros(100, dtype=torch.float64)
            >>> rewards[40:45] = 5.0
            >>> weights = torch.where(rewards > 1.0, 0.01, 1.0)
            >>> points = torch.linspace(0.0, 1.0, 100)[:, None]
            >>> others = torch.ones(100), weights, points, torch.ones(1)
            >>> CrossValidation(rewards, 0.0 * rewards, *others).clustered
            tensor([40, 41, 42, 43, 44])
        """
        doubted = self.weights < OUTLIER_WEIGHT
        sites, site = torch.unique(self.points, dim=0, return_inverse=True)
        number = torch.bincount(site)

        def mostly(chosen: Tensor) -> Tensor:  # rewards that disagree at a point are no maximum
            return 2 * torch.bincount(site, chosen.double()) > number

        above, doubtful = mostly(doubted & (self.rewards > self.predicted)), mostly(doubted)
        outliers = above.nonzero()[:, 0]
        if len(outliers) >= FEWEST:
            for points in (sites / self.lengthscales, sites):
                near = nearest(points, outliers)
                beside = above[near]
                if int(doubtful[near].sum()) > (1.0 + _MOST_BELOW) * int(beside.sum()):
                    continue
                pairs, most = int(beside.sum()) // 2, beside.numel() // 2  # seen from both ends
                chance = (len(outliers) - 1.0) / (len(above) - 1.0)
                if special.bdtrc(pairs - 1, most, chance) < 0.5 * _IMPROBABLE:
                    return (torch.isin(site, outliers[beside.any(-1)]) & doubted).nonzero()[:, 0]
        return outliers[:0]


def nearest(points: Tensor, chosen: Tensor) -> Tensor:
    """Indices (k, 4) of the other points (t, d) that are nearest to those with indices (k,)."""
    apart = torch.cdist(points[chosen], points)
    apart[torch.arange(len(chosen)), chosen] = math.inf
    return apart.topk(min(_NEIGHBOURS, len(points) - 1), largest=False).indices


NOT_VALIDATED = CrossValidation(NO_VALUES, NO_VALUES, NO_VALUES, NO_VALUES, NO_ROWS, NO_VALUES)
"""Of a model that is taken as known."""

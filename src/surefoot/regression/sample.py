"""Input of an estimator: the geometry of the pulls, and their rewards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from torch import Tensor

from surefoot._internal.brief import brief
from surefoot.regression.observations import Observations
from surefoot.regression.products import AT_ONCE, Products
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.units import RewardUnits


@dataclass(eq=False)  # not frozen, which takes a microsecond of each round
class Sample:
    """Features of the sites, the factor of their pulls, and the rewards in the model's units.

    Args:
        factor: V of all rewarded pulls.
        features: Features (S, m) of the sites.
        residual: [k(x, x) - ||phi(x)||^2]+ at the sites (S,).
        version: A number that changes with the feature map.
        leverage_bound: Gives an upper bound of phi' V^{-1} phi at sites (k,).
        observations: The rewards in their own units.
        units: The units of the model.
        products: How sums over the sites are found.
    """

    factor: RidgeFactor
    features: Tensor
    residual: Tensor
    version: int
    leverage_bound: Callable[[np.ndarray], np.ndarray]
    observations: Observations
    units: RewardUnits
    products: Products = AT_ONCE

    __repr__ = brief

    @property
    def number(self) -> int:
        """The number of rewards t."""
        return len(self.observations)

    @property
    def counts(self) -> Tensor:
        """Rewards at each site (S,)."""
        return self.observations.counts.to(self.features.device)

    @cached_property
    def site(self) -> Tensor:
        """The site of each reward (t,)."""
        return self.observations.site.to(self.features.device)

    @cached_property
    def rewards(self) -> Tensor:
        """Rewards (t,) in the model's units."""
        return self.units.transform(self.observations.rewards).to(self.features.device)

    @cached_property
    def error_variances(self) -> Tensor:
        """Squared standard errors (t,) of the rewards, in the model's units."""
        observations = self.observations
        variances = self.units.error_variances(observations.rewards, observations.sems)
        return variances.to(self.features.device)

    @property
    def sums(self) -> Tensor:
        """Sum of the rewards at each site (S,), in the model's units."""
        if self.units.is_identity:
            return self.observations.sums.to(self.features.device)
        return self.totals(self.rewards)

    @cached_property
    def weights(self) -> Tensor:
        """Weights ridge / (ridge + sem^2) of the rewards (t,) in ridge regression."""
        return self.factor.ridge / (self.factor.ridge + self.error_variances)

    @cached_property
    def weighted_counts(self) -> Tensor:
        """Weight of the rewards at each site (S,); empty where none has a standard error."""
        none = not self.observations.has_errors
        return self.features.new_zeros(0) if none else self.totals(self.weights)

    @property
    def weighted_sums(self) -> Tensor:
        """Sum of the weighted rewards at each site (S,)."""
        if not self.observations.has_errors:
            return self.sums
        return self.totals(self.weights * self.rewards)

    @cached_property
    def weighted_squares(self) -> float:
        """Weighted sum of the squares of the rewards."""
        if self.observations.has_errors:
            return float(self.weights @ self.rewards.square())
        if self.units.is_identity:
            return self.observations.sum_of_squares
        return float(self.rewards @ self.rewards)

    def weighted_noise(self, noise: float) -> float:
        """Sub-Gaussian constant of the weighted rewards, for one of the noise beside the sems.

        Of all rewards with errors, so that it does not depend on those so far.
        """
        return max(noise, self.factor.ridge**0.5 if self.observations.has_errors else 0.0)

    def factor_of(self, counts: Tensor) -> RidgeFactor:
        """V with such a weight of rewards at each site (S,); of all rewards where it is empty."""
        if counts.numel() == 0:
            return self.factor
        return RidgeFactor.of(self.features, self.factor.ridge, counts, self.products)

    def moments(self, values: Tensor) -> Tensor:  # (S,) -> (m,)
        """Sum over the sites of their features times a value for each."""
        return self.products.moments(self.features, values)

    def totals(self, values: Tensor) -> Tensor:  # (t,) -> (S,)
        """Sum at each site of a value for each reward."""
        return values.new_zeros(len(self.features)).index_add_(0, self.site, values)

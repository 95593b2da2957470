"""The joint distribution of independent variables of an environment."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Size, Tensor
from torch.distributions import Distribution, constraints


class ProductDistribution(Distribution):
    """Independent variables, each a distribution with batch shape (1,)."""

    def __init__(self, factors: Sequence[Distribution]) -> None:
        super().__init__(Size([len(factors)]), validate_args=False)
        self.factors = list(factors)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        """The real line: whoever uses it knows the bounds."""
        return constraints.real

    def sample(self, sample_shape: Size | Sequence[int] = ()) -> Tensor:
        """Values (..., dz)."""
        return torch.cat([factor.sample(Size(sample_shape)) for factor in self.factors], -1)

    def log_prob(self, value: Tensor) -> Tensor:
        """Log densities (..., dz) of values (..., dz)."""
        columns = zip(self.factors, value.split(1, -1), strict=True)
        return torch.cat([factor.log_prob(column) for factor, column in columns], -1)

    def icdf(self, value: Tensor) -> Tensor:
        """Quantiles (..., dz) at levels (..., dz)."""
        columns = zip(self.factors, value.split(1, -1), strict=True)
        return torch.cat([factor.icdf(column) for factor, column in columns], -1)

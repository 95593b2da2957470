"""Normal laws whose variances have no floor in the units of the outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from linear_operator import to_linear_operator
from linear_operator.operators import BlockDiagLinearOperator
from torch import Tensor


class Normal(MultivariateNormal):
    """Normal law whose variances are the diagonal of its covariance.

    GPyTorch's have a floor of 1e-10, or 1e-6 in float32, whatever the units: for outcomes of about
    1e-6, that is a hundred times what they vary. Here, whoever makes a covariance sees to it that
    its diagonal is positive, in units where that is known to be small.
    """

    @property
    def variance(self) -> Tensor:
        """Variances (..., q)."""
        diagonal = self.lazy_covariance_matrix.diagonal(dim1=-1, dim2=-2)
        tiny = torch.finfo(diagonal.dtype).tiny  # for sums and parts that others made
        return diagonal.clamp_min(tiny).expand(self._batch_shape + diagonal.shape[-1:])


class MultitaskNormal(MultitaskMultivariateNormal, Normal):
    """The same of several outcomes at each point."""

    @classmethod
    def independent(
        cls, normals: Sequence[MultivariateNormal], lines: Sequence[tuple[float, float]]
    ) -> MultitaskNormal:
        """The law of center + scale * values of independent outcomes.

        Args:
            normals: Law of the values (..., q) of each outcome.
            lines: Center and scale of each.
        """
        pairs = zip(normals, lines, strict=True)
        mean = torch.stack([center + scale * one.mean for one, (center, scale) in pairs], -1)
        covariances = [one.lazy_covariance_matrix.to_dense() for one in normals]
        squares = mean.new_tensor([scale**2 for _, scale in lines])
        blocks = to_linear_operator(torch.stack(covariances, -3)) * squares[:, None, None]
        return cls(mean, BlockDiagLinearOperator(blocks), interleaved=False)

    def __getitem__(self, idx: Any) -> MultivariateNormal:
        """The law of some points, outcomes or batches."""
        found = super().__getitem__(idx)
        mean, covariance = found.mean, found.lazy_covariance_matrix
        if isinstance(found, MultitaskMultivariateNormal):
            return type(self)(mean, covariance, interleaved=found._interleaved)
        return Normal(mean, covariance)

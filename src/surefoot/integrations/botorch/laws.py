"""Normal laws of a function's values and of outcomes, and conditioning of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from linear_operator import to_linear_operator
from linear_operator.operators import BlockDiagLinearOperator
from torch import Tensor

from surefoot._internal.linalg import cholesky
from surefoot.beliefs import Belief, Moments

Law = Callable[[Tensor], Moments]
"""Joint moments (..., q) of the function at points (..., q, d), differentiable in them."""


def law_of(belief: Belief) -> Law:
    """The moments of the posterior of a belief, integrated over the hyperparameters."""
    center, scale = belief.outcome.fitted.center, belief.outcome.fitted.scale

    def standardised(points: Tensor) -> Moments:
        mean, covariance = belief.outcome.integrated.joint(points)
        return Moments((mean - center) / scale, covariance / scale**2)

    return standardised


@dataclass(frozen=True, eq=False)
class Conditioned:
    """A law, given further measurements.

    Batches of points and of measurements are broadcast.

    Args:
        law: The law.
        points: Where was measured (..., k, d).
        values: The measured values (..., k), in standardised units.
        noise: Their noise variances (..., k).

    References:
        Rasmussen and Williams 2006, eq. 2.23 and 2.24.
    """

    law: Law
    points: Tensor
    values: Tensor
    noise: Tensor

    def __call__(self, points: Tensor) -> Moments:
        """Joint moments (..., q) of the function at points (..., q, d)."""
        number = self.points.shape[-2]
        batch = torch.broadcast_shapes(self.points.shape[:-2], points.shape[:-2])
        parts = [part.expand(*batch, *part.shape[-2:]) for part in (self.points, points)]
        mean, covariance = self.law(torch.cat(parts, -2))
        measured = covariance[..., :number, :number] + torch.diag_embed(self.noise)
        across = covariance[..., number:, :number]
        root = cholesky(measured)
        whitened = torch.linalg.solve_triangular(root, across.mT, upper=False)
        residual = (self.values - mean[..., :number]).unsqueeze(-1)
        explained = torch.linalg.solve_triangular(root, residual, upper=False)
        conditional = mean[..., number:] + (whitened.mT @ explained).squeeze(-1)
        left = covariance[..., number:, number:] - whitened.mT @ whitened
        return Moments(conditional, left.expand(*conditional.shape, left.shape[-1]))


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
    def independent(cls, normals: Sequence[MultivariateNormal]) -> MultitaskNormal:
        """The law of independent outcomes, given that of the values (..., q) of each."""
        mean = torch.stack([one.mean for one in normals], -1)
        blocks = torch.stack([one.lazy_covariance_matrix.to_dense() for one in normals], -3)
        return cls(mean, BlockDiagLinearOperator(to_linear_operator(blocks)), interleaved=False)

    def __getitem__(self, idx: Any) -> MultivariateNormal:
        """The law of some points, outcomes or batches."""
        found = super().__getitem__(idx)
        mean, covariance = found.mean, found.lazy_covariance_matrix
        if isinstance(found, MultitaskMultivariateNormal):
            return type(self)(mean, covariance, interleaved=found._interleaved)
        return Normal(mean, covariance)


def affine(normal: MultivariateNormal, center: Tensor, scale: Tensor) -> MultivariateNormal:
    """The law of center + scale * values, with centers and scales (m,) of independent outcomes."""
    # A product, so that the root of the covariance is that of standardised values, scaled.
    center, scale = center.to(normal.mean), scale.to(normal.mean)
    covariance, mean = normal.lazy_covariance_matrix, center + scale * normal.mean
    if not isinstance(normal, MultitaskNormal):
        return Normal(mean, covariance * float(scale**2))
    blocks = covariance.base_linear_op * scale.square()[:, None, None]
    return MultitaskNormal(mean, BlockDiagLinearOperator(blocks), interleaved=False)

"""Laws of a function's values at any points, in standardised units, and conditioning of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
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

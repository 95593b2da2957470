"""Mean and variance of the unknown function, and samples of it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot.features.embedding import Embedding
from surefoot.ridge import RidgeFactor


@dataclass(frozen=True, eq=False)
class ArmValues:
    """Mean and deviation (A,) at all arms, kept up by rank-one updates."""

    points: Tensor  # (A, d)
    mean: Tensor
    deviation: Tensor


@dataclass(frozen=True, eq=False)
class Posterior:
    r"""Ridge regression in features, in reward units.

    .. math::
        \mu(x) &= c + s\,\phi(x)^\top\theta \\
        \sigma^2(x) &= s^2\bigl([k(x,x) - \|\phi(x)\|^2]_+
            + \lambda\,\phi(x)^\top V^{-1}\phi(x)\bigr)

    with the centre c and scale s of the rewards (0 and 1 where they are taken as they are).
    """

    embedding: Embedding
    factor: RidgeFactor
    coefficients: Tensor  # (m,)
    centre: float = 0.0
    scale: float = 1.0
    table: ArmValues | None = None

    def mean(self, points: Tensor) -> Tensor:  # (n, d) -> (n,)
        """Posterior mean, differentiable in the points."""
        if self.table is not None and points is self.table.points:
            return self.table.mean
        return self.centre + self.scale * (self.embedding(points) @ self.coefficients)

    def variance(self, points: Tensor) -> Tensor:  # (n, d) -> (n,)
        """Posterior variance of the function, without noise; differentiable in the points."""
        if self.table is not None and points is self.table.points:
            return self.table.deviation.square()
        features = self.embedding(points)
        return self.scale**2 * self._variance(points, features)

    def mean_and_deviation(self, points: Tensor) -> tuple[Tensor, Tensor]:  # (n, d) -> (n,), (n,)
        """Mean and standard deviation from one evaluation of the features."""
        if self.table is not None and points is self.table.points:
            return self.table.mean, self.table.deviation
        features = self.embedding(points)
        mean = self.centre + self.scale * (features @ self.coefficients)
        return mean, self.scale * self._variance(points, features).clamp_min(1e-18).sqrt()

    def hallucinated(self, points: Tensor) -> Posterior:  # (n, d)
        """As if the points had been measured and had given their means: only variance moves."""
        factor = self.factor.extended(self.embedding(points))
        return Posterior(self.embedding, factor, self.coefficients, self.centre, self.scale)

    def sample_coefficients(self, normals: Tensor) -> Tensor:  # (n, m) -> (n, m)
        """Coefficients of functions from the posterior, for standard normal draws."""
        spread = torch.linalg.solve_triangular(self.factor.root.T, normals.T, upper=True).T
        return self.coefficients + self.factor.ridge**0.5 * spread

    def _variance(self, points: Tensor, features: Tensor) -> Tensor:
        explained = self.factor.ridge * self.factor.leverage(features)
        return (self.embedding.residual(points, features) + explained).clamp_min(0.0)

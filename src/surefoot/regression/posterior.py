"""Mean and variance of the unknown function, and samples of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from surefoot._internal.linalg import cholesky
from surefoot.regression.embedding import Embedding
from surefoot.regression.ridge import RidgeFactor

LEAST_VARIANCE = 1e-18  # so that its root has a gradient


@dataclass(frozen=True, eq=False)
class ArmValues:
    """Mean and deviation (A,) at all arms, kept up by rank-one updates."""

    points: Tensor  # (A, d)
    mean: Tensor
    deviation: Tensor


@dataclass(frozen=True, eq=False)
class Pending:
    """Points (p, d) under way, and the root of their predictive covariance."""

    points: Tensor
    features: Tensor  # (p, m)
    root: Tensor  # (p, p)


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
    pending: Pending | None = None

    def mean(self, points: Tensor) -> Tensor:  # (n, d) -> (n,)
        """Posterior mean, differentiable in the points."""
        if self.table is not None and points is self.table.points:
            return self.table.mean
        return self.centre + self.scale * (self.embedding(points) @ self.coefficients)

    def variance(self, points: Tensor) -> Tensor:  # (n, d) -> (n,)
        """Posterior variance of the function, without noise; differentiable in the points."""
        return self.mean_and_deviation(points)[1].square()

    def mean_and_deviation(self, points: Tensor) -> tuple[Tensor, Tensor]:  # (n, d) -> (n,), (n,)
        """Mean and standard deviation from one evaluation of the features."""
        if self.table is not None and points is self.table.points:
            if self.pending is None:
                return self.table.mean, self.table.deviation
            features, mean = self.embedding(points), self.table.mean
            variance = (self.table.deviation / self.scale).square()
        else:
            features = self.embedding(points)
            mean = self.centre + self.scale * (features @ self.coefficients)
            explained = self.factor.ridge * self.factor.leverage(features)
            variance = self.embedding.residual(points, features) + explained
        if self.pending is not None:
            variance = variance - self._known_from_pending(points, features, self.pending)
        return mean, self.scale * variance.clamp_min(LEAST_VARIANCE).sqrt()

    def hallucinated(self, points: Tensor, counts: Tensor | None = None) -> Posterior:
        """As if points (p, d) had been measured and had given their means: only variance moves.

        `counts` (p,) says how often each; once by default.
        """
        features = self.embedding(points)
        alone = replace(self, pending=None)
        covariance = alone._covariance(points, features, points, features)
        often = torch.ones_like(points[:, 0]) if counts is None else counts
        noise = torch.diag(self.factor.ridge / often)
        pending = Pending(points, features, cholesky(covariance + noise))
        return replace(self, pending=pending)

    def sample_coefficients(self, normals: Tensor) -> Tensor:  # (n, m) -> (n, m)
        """Coefficients of functions from the posterior, for standard normal draws."""
        spread = torch.linalg.solve_triangular(self.factor.root.T, normals.T, upper=True).T
        return self.coefficients + self.factor.ridge**0.5 * spread

    def _covariance(
        self, left: Tensor, left_features: Tensor, right: Tensor, right_features: Tensor
    ) -> Tensor:  # (n, p)
        """Posterior covariance of the function, in the units of the model."""
        explained = self.factor.whiten(left_features) @ self.factor.whiten(right_features).T
        residual = self.embedding.cross_residual(left, left_features, right, right_features)
        return residual + self.factor.ridge * explained

    def _known_from_pending(self, points: Tensor, features: Tensor, pending: Pending) -> Tensor:
        covariance = self._covariance(points, features, pending.points, pending.features)
        known = torch.linalg.solve_triangular(pending.root.T, covariance, upper=True, left=False)
        return known.square().sum(-1)

"""Posterior mean and variance of the unknown function, and samples of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import torch
from torch import Tensor

from surefoot._internal.brief import brief
from surefoot._internal.linalg import cholesky, square_root
from surefoot.regression.draws import Path, residual_draw
from surefoot.regression.embedding import Embedding
from surefoot.regression.observations import Observations, Pull
from surefoot.regression.ridge import RidgeFactor

LEAST_VARIANCE = 1e-18  # of the prior's, so that its root has a gradient


def no_trend(points: Tensor) -> Tensor:
    """No prior mean beside the constant: zeros (n,) at points (n, d)."""
    return points.new_zeros(len(points))


class Evaluation(NamedTuple):
    """Points as a posterior sees them; inner products of its rows give posterior covariances.

    Args:
        points: The points (p, d).
        features: Their features (p, m).
        explained: sqrt(ridge) V^{-1/2} phi (p, m).
        conditioned: Whitened covariance (p, q) with the pulls without rewards.
    """

    points: Tensor
    features: Tensor
    explained: Tensor
    conditioned: Tensor

    def rows(self, chosen: slice | Tensor) -> Evaluation:
        """The evaluation of some of the points."""
        return Evaluation(*(part[chosen] for part in self))

    def groups(self, number: int) -> Evaluation:
        """The evaluation in groups of so many points, whose covariances are computed at once."""
        return Evaluation(*(part.unflatten(0, (-1, number)) for part in self))


class Moments(NamedTuple):
    """Joint posterior of the transformed function at points.

    Args:
        mean: Means (..., q).
        covariance: Covariance (..., q, q), without noise.
    """

    mean: Tensor
    covariance: Tensor


class Predictive(Protocol):
    """Distribution of the values of the unknown function at points, given the rewards."""

    @property
    def scale(self) -> float:
        """Reward units in one unit of the model."""

    def mean(self, points: Tensor) -> Tensor:
        """Posterior mean (n,) at points (n, d), in reward units."""

    def variance(self, points: Tensor) -> Tensor:
        """Posterior variance (n,) of the function at points (n, d), without noise."""

    def mean_and_deviation(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mean (n,) and standard deviation (n,) at points (n, d)."""

    @property
    def of_rewards(self) -> Predictive:
        """The same without the pulls whose rewards are not known."""

    def tabulates(self, points: Tensor) -> bool:
        """Whether mean and deviation at these very points are looked up."""

    def joint(self, points: Tensor) -> Moments:
        """Joint moments (..., q) at points (..., q, d), differentiable in them."""

    def components(self, points: Tensor) -> Moments:
        """Joint moments (..., s, q) of the s equally probable parts of a mixture; else of one."""

    def draws(self, points: Tensor, number: int, generator: torch.Generator) -> Tensor:
        """Values (n, number) at points (n, d) of functions drawn from it."""


class Posterior(Predictive, Protocol):
    """Distribution of the unknown function given the rewards, at some hyperparameters."""

    @property
    def embedding(self) -> Embedding:
        """The feature map phi."""

    @property
    def factor(self) -> RidgeFactor:
        """V of the pulls."""

    @property
    def coefficients(self) -> Tensor:
        """theta (m,), in the units of the model."""

    def deviation_at(self, observations: Observations) -> Tensor:
        """Standard deviation (S,) at the sites of observations."""

    def updated(self, pulls: Sequence[Pull]) -> Posterior:
        """The posterior whose variance is conditioned on pulls without rewards."""

    @property
    def of_rewards(self) -> Posterior:
        """The posterior without the pulls whose rewards are not known."""

    def sample_coefficients(self, normals: Tensor) -> Tensor:
        """Coefficients (n, m) of functions from the posterior, for normal draws (n, m)."""

    def path(
        self,
        generator: torch.Generator,
        prior: Callable[[torch.Generator], Path],
        width: float = 1.0,
    ) -> Path:
        """A function drawn from the posterior of the rewards, points (n, d) -> (n,).

        Args:
            generator: Source of randomness.
            prior: Draws a function of the prior, for the residual of the features.
            width: Factor of the deviation of the draw from the mean.

        Returns:
            The function, in reward units, differentiable in the points.
        """

    def evaluate(self, points: Tensor) -> Evaluation:
        """Points (p, d) as `covariance` and `evaluated_mean` need them."""

    def evaluated_mean(self, at: Evaluation) -> Tensor:
        """Posterior mean (p,) at points that were evaluated."""

    def covariance(self, left: Evaluation, right: Evaluation) -> Tensor:
        """Posterior covariance (..., p, r) of the function, in squared reward units.

        Args:
            left: Points (..., p, d) that were evaluated.
            right: Points (..., r, d) that were evaluated.
        """


class Gaussian(ABC):
    """The part of a Gaussian posterior that follows from its means and covariances."""

    @abstractmethod
    def mean(self, points: Tensor) -> Tensor:
        """Posterior mean (n,) at points (n, d)."""

    @abstractmethod
    def evaluate(self, points: Tensor) -> Evaluation:
        """Points (p, d) as `covariance` and `evaluated_mean` need them."""

    @abstractmethod
    def evaluated_mean(self, at: Evaluation) -> Tensor:
        """Posterior mean (p,) at points that were evaluated."""

    @abstractmethod
    def covariance(self, left: Evaluation, right: Evaluation) -> Tensor:
        """Posterior covariance (..., p, r) of the function."""

    def joint(self, points: Tensor) -> Moments:
        """Joint moments (..., q) at points (..., q, d), differentiable in them."""
        flat, number = points.reshape(-1, points.shape[-1]), points.shape[-2]
        groups = self.evaluate(flat).groups(number)
        covariance = self.covariance(groups, groups)
        return Moments(
            self.mean(flat).reshape(points.shape[:-1]),
            covariance.reshape(*points.shape[:-1], number),
        )

    def components(self, points: Tensor) -> Moments:
        """The joint moments (..., 1, q) themselves: it is no mixture."""
        return self.joint(points.unsqueeze(-3))

    def draws(self, points: Tensor, number: int, generator: torch.Generator) -> Tensor:
        """Values (n, number) at points (n, d) of functions drawn from it."""
        with torch.no_grad():
            at = self.evaluate(points)
            root = square_root(self.covariance(at, at))
            normals = torch.randn(len(points), number, dtype=torch.float64, generator=generator)
            return self.evaluated_mean(at)[:, None] + root @ normals.to(root)


@dataclass(frozen=True, eq=False)
class FeaturePosterior(Gaussian):
    r"""Ridge regression in features, in reward units.

    .. math::
        \mu(x) &= c + s\,\phi(x)^\top\theta \\
        \sigma^2(x) &= s^2\bigl([k(x,x) - \|\phi(x)\|^2]_+
            + \lambda\,\phi(x)^\top V^{-1}\phi(x)\bigr)

    Args:
        embedding: The feature map.
        factor: V of the pulls.
        coefficients: theta (m,).
        center: Prior mean c, in reward units.
        scale: Output scale s, in reward units.
        pulls: Pulls without rewards, on which the variance is conditioned and the mean is not.
        trend: Prior mean beside c, points (n, d) -> (n,), in reward units.

    Example:
        >>> import surefoot as sf
        >>> optimizer = sf.algorithms.gp_ucb(
        ...     sf.Box([0.0], [1.0]), sf.kernels.squared_exponential(0.2)
        ... )
        >>> info = optimizer.tell([0.5], 1.0)
        >>> round(optimizer.belief().posterior.mean([[0.5]]).item(), 6)
        0.5
    """

    embedding: Embedding
    factor: RidgeFactor
    coefficients: Tensor
    center: float = 0.0
    scale: float = 1.0
    pulls: tuple[Pull, ...] = ()
    trend: Path = no_trend

    derived: ClassVar[bool] = True  # from regression and estimate: not saved

    __repr__ = brief

    def mean(self, points: Tensor | Sequence) -> Tensor:  # (n, d) -> (n,)
        """Posterior mean, differentiable in the points."""
        points = self._tensor(points)
        return self._mean(points, self.embedding(points))

    def _mean(self, points: Tensor, features: Tensor) -> Tensor:
        mean = self.center + self.scale * (features @ self.coefficients)
        return mean if self.trend is no_trend else mean + self.trend(points)

    def variance(self, points: Tensor | Sequence) -> Tensor:  # (n, d) -> (n,)
        """Posterior variance of the function, without noise; differentiable in the points."""
        return self.mean_and_deviation(points)[1].square()

    def mean_and_deviation(self, points: Tensor | Sequence) -> tuple[Tensor, Tensor]:
        """Mean (n,) and standard deviation (n,) at points (n, d)."""
        points = self._tensor(points)
        features = self.embedding(points)
        mean = self._mean(points, features)
        explained = self.factor.ridge * self.factor.leverage(features)
        residual = self.embedding.residual(points, features)
        variance = residual + explained
        least = LEAST_VARIANCE * (residual + features.square().sum(-1)).detach()
        if self.pulls:
            whitened = self.factor.ridge**0.5 * self.factor.whiten(features)
            variance = variance - self._conditioned(points, features, whitened).square().sum(-1)
        return mean, self.scale * torch.maximum(variance, least).sqrt()

    def deviation_at(self, observations: Observations) -> Tensor:
        """Standard deviation (S,) at the sites of observations."""
        return self.mean_and_deviation(observations.sites)[1]

    def updated(self, pulls: Sequence[Pull]) -> FeaturePosterior:
        """The posterior as if points had been measured with their means as rewards.

        Only the variance changes, as it does not depend on rewards (Desautels et al. 2014).
        """
        return replace(self, pulls=(*self.pulls, *pulls))

    @property
    def of_rewards(self) -> FeaturePosterior:
        """The posterior without the pulls whose rewards are not known."""
        return replace(self, pulls=()) if self.pulls else self

    def tabulates(self, points: Tensor) -> bool:
        """Whether features at these very points are looked up, so that all are asked at once."""
        return getattr(self.embedding, "points", None) is points

    def sample_coefficients(self, normals: Tensor) -> Tensor:  # (n, m) -> (n, m)
        """Coefficients of functions from the posterior of the rewards, for normal draws."""
        spread = torch.linalg.solve_triangular(self.factor.root.T, normals.T, upper=True).T
        return self.coefficients + self.factor.ridge**0.5 * spread

    def path(
        self,
        generator: torch.Generator,
        prior: Callable[[torch.Generator], Path],
        width: float = 1.0,
    ) -> Path:
        r"""A function drawn from the posterior of the rewards.

        .. math:: c + s\,[\phi(x)^\top\theta
            + \beta\,(\phi(x)^\top(\sqrt\lambda V^{-1/2}\xi - p) + h(x))]

        with m normal numbers :math:`\xi`, and :math:`h(x) - \phi(x)^\top p` drawn from the residual
        process. Mean and covariance are those of the posterior, the covariance times the squared
        width. As in decoupled sampling, what the data determine is drawn in the features, and the
        rest is a draw h of the prior.

        Args:
            generator: Source of randomness.
            prior: Draws a function of the prior; called only where there is a residual.
            width: Factor beta of the deviation of the draw from the mean.

        Returns:
            The function, points (n, d) -> (n,), in reward units.

        References:
            Wilson et al. 2020, "Efficiently sampling functions from Gaussian process posteriors".
        """
        with torch.no_grad():
            theta = self.coefficients
            residual = residual_draw(self.embedding, lambda: prior(generator), theta)
            normals = torch.randn(1, len(theta), dtype=theta.dtype, generator=generator)
            drawn = self.sample_coefficients(normals.to(theta))[0]
            theta = theta + width * (drawn - theta - residual.projection)

        def path(points: Tensor) -> Tensor:
            explained = (
                self.embedding.product(theta)  # type: ignore[attr-defined]
                if self.tabulates(points)
                else self.embedding(points) @ theta
            )
            drawn = self.center + self.scale * (explained + width * residual.function(points))
            return drawn if self.trend is no_trend else drawn + self.trend(points)

        return path

    def evaluate(self, points: Tensor) -> Evaluation:
        """Points (p, d) as `covariance` and `evaluated_mean` need them."""
        features = self.embedding(points)
        explained = self.factor.ridge**0.5 * self.factor.whiten(features)
        conditioned = self._conditioned(points, features, explained)
        return Evaluation(points, features, explained, conditioned)

    def evaluated_mean(self, at: Evaluation) -> Tensor:  # (p,)
        """Posterior mean at points that were evaluated."""
        return self._mean(at.points, at.features)

    def covariance(self, left: Evaluation, right: Evaluation) -> Tensor:  # (..., p, r)
        """Posterior covariance of the function, in squared reward units; also of groups."""
        residual = self.embedding.cross_residual(
            left.points, left.features, right.points, right.features
        )
        covariance = residual + left.explained @ right.explained.mT
        if self.pulls:
            covariance = covariance - left.conditioned @ right.conditioned.mT
        return self.scale**2 * covariance

    def _conditioned(self, points: Tensor, features: Tensor, explained: Tensor) -> Tensor:
        """Whitened covariance (n, q) with the pulls without rewards."""
        if not self.pulls:
            return features.new_zeros(len(features), 0)
        at, root = self._pulled
        residual = self.embedding.cross_residual(points, features, at.points, at.features)
        covariance = residual + explained @ at.explained.T
        return torch.linalg.solve_triangular(root.T, covariance, upper=True, left=False)

    @cached_property
    def _pulled(self) -> tuple[Evaluation, Tensor]:
        """The points of the pulls, and the root of their predictive covariance."""
        base = replace(self, pulls=(), scale=1.0)
        at = base.evaluate(torch.stack([pull.point for pull in self.pulls]))
        counts = at.features.new_tensor([float(pull.times) for pull in self.pulls])
        return at, cholesky(base.covariance(at, at) + torch.diag(self.factor.ridge / counts))

    def _tensor(self, points: Any) -> Tensor:
        like = self.coefficients
        return torch.as_tensor(points, dtype=like.dtype, device=like.device)


class AtArms(Gaussian):
    """The part of a posterior at arms that it shares with the one at any points."""

    @property
    @abstractmethod
    def elsewhere(self) -> FeaturePosterior:
        """The posterior at points that need not be arms."""

    @abstractmethod
    def best_arm(self, width: float, among: Tensor | None = None) -> int:
        """The arm of largest mean + width * deviation; the first where there are several.

        Args:
            width: Multiplier of the standard deviation, at least 0.
            among: The only arms (n,) to choose from.

        Returns:
            The index of the arm.
        """

    @abstractmethod
    def top(self, width: float, number: int) -> tuple[Tensor, Tensor]:
        """The arms (n,) of largest mean + width * deviation, best first, and these bounds (n,)."""

    def sample_coefficients(self, normals: Tensor) -> Tensor:  # (n, m) -> (n, m)
        """Coefficients of functions from the posterior, for standard normal draws."""
        return self.elsewhere.sample_coefficients(normals)

    def evaluate(self, points: Tensor) -> Evaluation:
        """Points (p, d) as `covariance` and `evaluated_mean` need them."""
        return self.elsewhere.evaluate(points)

    def evaluated_mean(self, at: Evaluation) -> Tensor:  # (p,)
        """Posterior mean at points that were evaluated."""
        return self.elsewhere.evaluated_mean(at)

    def covariance(self, left: Evaluation, right: Evaluation) -> Tensor:  # (..., p, r)
        """Posterior covariance of the function, in squared reward units."""
        return self.elsewhere.covariance(left, right)

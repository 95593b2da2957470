"""The values of a function at points, before rewards and given them, for known hyperparameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import torch
from torch import Tensor

from surefoot._internal.linalg import cholesky, same_points
from surefoot.hyperparameters.evidence import Evidence, Hyperparameters, solve
from surefoot.hyperparameters.nuisance_effects import reference
from surefoot.regression.noise import Noise


@dataclass(frozen=True, eq=False)
class Process:
    """A Gaussian process given the rewards, or a batch of several under one evidence.

    Args:
        evidence: Evidence of the hyperparameters.
        points: Points (n, d) of the rewards, and of those that are pending.
        lengthscales: Lengthscales (..., g).
        variance: Signal variance (...).
        own: Variance (...) of the microscale variation.
        noise: Variance (...) of the noise of a reward that is no outlier, without known errors.
        level: Covariance (..., n) of the reference level of the effects with the rewards.
        level_variance: Variance (...) of that level.
        inverse: Inverse covariance (..., n, n) of the rewards.
        shift: Prior mean (...), by generalised least squares.
        solved: The inverse times the rewards less that mean (..., n).
        fitted: Posterior means at the points of the evidence, with the effects.
    """

    evidence: Evidence
    points: Tensor
    lengthscales: Tensor
    variance: Tensor
    own: Tensor
    noise: Tensor
    level: Tensor
    level_variance: Tensor
    inverse: Tensor
    shift: Tensor
    solved: Tensor
    fitted: Tensor

    @classmethod
    def given(
        cls,
        evidence: Evidence,
        model: Hyperparameters,
        weights: Tensor,
        share: float = 0.0,
    ) -> Process:
        """The process given the rewards.

        Args:
            evidence: Evidence of the hyperparameters.
            model: Hyperparameters.
            weights: Precisions (n,) of the rewards, relative to the noise.
            share: Share of the noise that is microscale variation.
        """
        own, rewards = share * model.noise, evidence.rewards
        noise = Noise(model.noise - own, weights, evidence.errors).variances
        total = evidence.covariance_of_rewards(model)
        if own > 0.0:
            total = total + own * evidence.same
        level, level_variance = reference(evidence.effects, model.effects, len(noise))
        found = solve(total, noise, rewards)
        return cls(
            evidence=evidence,
            points=evidence.points,
            lengthscales=model.lengthscales,
            variance=rewards.new_tensor(model.variance),
            own=rewards.new_tensor(own),
            noise=rewards.new_tensor(model.noise - own),
            level=level,
            level_variance=rewards.new_tensor(level_variance),
            inverse=torch.from_numpy(found.inverse),
            shift=rewards.new_tensor(found.shift),
            solved=torch.from_numpy(found.solved),
            fitted=rewards - noise * torch.from_numpy(found.solved),
        )

    @classmethod
    def batch(cls, processes: Sequence[Process]) -> Process:
        """Several processes (s,) of the same evidence as one."""
        _, _, *tensors = (field.name for field in fields(cls))
        stacked = [torch.stack([getattr(one, name) for one in processes]) for name in tensors]
        return cls(processes[0].evidence, processes[0].points, *stacked)

    def with_pending(self, points: Tensor, counts: Tensor) -> Process:
        """The process after measurements (k,) at points (k, d) whose rewards are not known.

        It is the one after rewards equal to its means there, so that its means do not change.

        Args:
            points: The points.
            counts: How many measurements there are of each.
        """
        level = self.level_variance[..., None, None]
        prior = self.between(points, points) + level
        noise = self.noise[..., None] / counts
        across = self._across(points, self._exponents(points, self.points))
        explained = across @ self.inverse
        root = cholesky(prior + torch.diag_embed(noise) - explained @ across.mT)
        corner = torch.cholesky_inverse(root)
        side = -corner @ explained
        upper = torch.cat([self.inverse - explained.mT @ side, side.mT], -1)
        inverse = torch.cat([upper, torch.cat([side, corner], -1)], -2)
        pending = torch.zeros_like(noise)
        return replace(
            self,
            points=torch.cat([self.points, points]),
            level=torch.cat([self.level, pending + self.level_variance[..., None]], -1),
            inverse=inverse,
            solved=torch.cat([self.solved, pending], -1),
        )

    def at(self, points: Tensor) -> Conditional:
        """The values at points (p, d), differentiable in them."""
        exponents = self._exponents(points, self.points)
        across = self._across(points, exponents)
        explained = across @ self.inverse
        mean = self._mean(across)
        unknown = (1.0 - explained.sum(-1)) / self._sums.sum(-1, keepdim=True).sqrt()
        return Conditional(mean, Prior(self, points), exponents, across, explained, unknown)

    def mean(self, points: Tensor) -> Tensor:
        """Posterior means (..., p) alone, which take a small part of the time of `at`."""
        if self.evidence.is_told(points):
            return self.fitted
        return self._mean(self._across(points, self._exponents(points, self.points)))

    def _across(self, points: Tensor, exponents: Tensor) -> Tensor:
        """Prior covariance (..., p, n) of the values at points (p, d) with the rewards."""
        return self._covariances(points, self.points, exponents) + self.level[..., None, :]

    def _mean(self, across: Tensor) -> Tensor:
        return self.shift[..., None] + (across @ self.solved[..., None])[..., 0]

    def between(self, left: Tensor, right: Tensor) -> Tensor:
        """Prior covariance (..., p, r) of values at points (p, d) and (r, d), effects aside."""
        return self._covariances(left, right, self._exponents(left, right))

    def _exponents(self, left: Tensor, right: Tensor) -> Tensor:
        return self.evidence.exponents(self.lengthscales, left, right)

    def _covariances(self, left: Tensor, right: Tensor, exponents: Tensor) -> Tensor:
        smooth = self.evidence.covariances(self.variance, exponents)
        if not bool(self.own.any()):
            return smooth
        return smooth + self.own[..., None, None] * same_points(left, right)

    def slopes(self, at: Conditional, by_mean: Tensor, by_variance: Tensor) -> Tensor:
        """Slopes (p, d) in the points of a function of means and variances (s, p) of a batch.

        By the formula, which takes a fifth of the time of automatic differentiation: its operations
        on small matrices cost more than the matrices.

        Args:
            at: The values at the points.
            by_mean: Derivatives (s, p) of the function in their means.
            by_variance: Derivatives (s, p) of the function in their variances.
        """
        rows = self._sums
        by_unknown = 2.0 * by_variance * at.unknown_mean / rows.sum(-1, keepdim=True).sqrt()
        by_explained = 2.0 * by_variance * (at.left > 0.0)
        by_across = (
            by_mean[..., None] * self.solved[:, None] - by_unknown[..., None] * rows[:, None]
        )
        slope = self.evidence.slopes(self.variance, at.exponents)
        by_exponent = (by_across - by_explained[..., None] * at.solved) * slope
        first, scales = self.evidence.points[:1], self.lengthscales[:, None, self.evidence.group]
        points = (at.prior.points - first) / scales
        apart = by_exponent @ self._scaled - points * by_exponent.sum(-1, keepdim=True)
        return (apart / scales).sum(0)

    @cached_property
    def _sums(self) -> Tensor:
        """Sums (..., n) of the rows of the inverse."""
        return self.inverse.sum(-1)

    @cached_property
    def _scaled(self) -> Tensor:
        """Points (s, n, d) of the rewards in lengthscales, as seen from the first one."""
        scales = self.lengthscales[:, None, self.evidence.group]
        return (self.points - self.evidence.points[:1]) / scales


@dataclass(frozen=True, eq=False)
class Prior:
    """The values at points before any reward.

    Args:
        process: The process.
        points: The points (p, d), or groups (..., 1, p, d) of them.
    """

    process: Process
    points: Tensor

    @property
    def variance(self) -> Tensor:
        """Variance (...), the same at every point."""
        return self.process.variance + self.process.own + self.process.level_variance

    @property
    def covariance(self) -> Tensor:
        """Covariance (..., p, p)."""
        level = self.process.level_variance[..., None, None]
        return self.process.between(self.points, self.points) + level


@dataclass(frozen=True, eq=False)
class Conditional:
    """The values at points, given rewards and hyperparameters.

    Args:
        mean: Their means (..., p).
        prior: What they were before.
        exponents: Exponents (..., p, n) of the points with those of the rewards.
        across: Their covariance (..., p, n) with the rewards.
        solved: The same times the inverse covariance of the rewards.
        unknown_mean: Deviation (..., p) that the unknown prior mean adds.
    """

    mean: Tensor
    prior: Prior
    exponents: Tensor
    across: Tensor
    solved: Tensor
    unknown_mean: Tensor

    @cached_property
    def left(self) -> Tensor:
        """Variance (..., p) that the rewards leave where the prior mean is known."""
        return self.prior.variance[..., None] - (self.solved * self.across).sum(-1)

    @property
    def variance(self) -> Tensor:
        """Variance (..., p)."""
        return self.left.clamp_min(0.0) + self.unknown_mean.square()

    @property
    def covariance(self) -> Tensor:
        """Covariance (..., p, p)."""
        alone = self.prior.covariance - self.solved @ self.across.mT
        covariance = alone + self.unknown_mean[..., None] * self.unknown_mean[..., None, :]
        return (covariance + covariance.mT) / 2.0

    def groups(self, number: int) -> Conditional:
        """The values of a batch (s,) in groups (p / q, s, q) of so many points q."""
        by_group = {
            name: getattr(self, name).unflatten(1, (-1, number)).transpose(0, 1)
            for name in ("mean", "exponents", "across", "solved", "unknown_mean")
        }
        points = self.prior.points.unflatten(0, (-1, 1, number))
        return replace(self, prior=replace(self.prior, points=points), **by_group)

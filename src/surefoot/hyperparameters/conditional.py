"""The values of a function at points, before rewards and given them, for known hyperparameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import torch
from torch import Tensor

from surefoot._internal.linalg import cholesky, same_points
from surefoot.hyperparameters.evidence import Evidence, Hyperparameters, solve
from surefoot.hyperparameters.exponents import ExponentsTo
from surefoot.hyperparameters.nuisance_effects import reference
from surefoot.kernels.families import Correlation
from surefoot.regression.noise import Noise

Slopes = Callable[[Tensor, Tensor], Tensor]
"""Slopes (p, d) in the points of a function, from its derivatives (s, p) in the means and in the
variances of a batch."""


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
        prior = self.between(points, points) + self.level_variance[..., None, None]
        noise = self.noise[..., None] / counts
        across = self._across(points)
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
        return self.with_slopes(points)[0]

    def with_slopes(self, points: Tensor) -> tuple[Conditional, Slopes]:
        """The values at points (p, d), and slopes of functions of the moments of a batch (s,).

        By the formula, which takes a fifth of the time of automatic differentiation: its operations
        on small matrices cost more than the matrices.
        """
        smooth = self._smooth(self._to_rewards(points))
        across = self._with_others(smooth.values, points)
        explained = across @ self.inverse
        above, share = (across @ self._columns).unbind(-1)
        unknown = (1.0 - share) * self._unknown
        mean = self.shift[..., None] + above
        found = Conditional(mean, Prior(self, points), across, explained, unknown)

        def slopes(by_mean: Tensor, by_variance: Tensor) -> Tensor:
            twice = -2.0 * by_variance
            by_columns = torch.stack([by_mean, twice * unknown * self._unknown], -1)
            by_across = by_columns @ self._columns.mT
            by_across.addcmul_((twice * (found.left > 0.0)).unsqueeze(-1), explained)
            return self._to_rewards.slopes(points, by_across.mul_(smooth.slopes()))

        return found, slopes

    def mean(self, points: Tensor) -> Tensor:
        """Posterior means (..., p) alone, which take a small part of the time of `at`."""
        if self.evidence.is_told(points):
            return self.fitted
        return self.shift[..., None] + (self._across(points) @ self.solved[..., None])[..., 0]

    def between(self, left: Tensor, right: Tensor) -> Tensor:
        """Prior covariance (..., p, r) of values at points (p, d) and (r, d), effects aside."""
        smooth = self._smooth(self.evidence.exponents_to(self.lengthscales, right)(left)).values
        return smooth + self._own_between(left, right) if self._has_own else smooth

    def _smooth(self, exponents: Tensor) -> Correlation:
        return self.evidence.covariances(self.variance, exponents)

    def _across(self, points: Tensor) -> Tensor:
        """Prior covariance (..., p, n) of the values at points (p, d) with the rewards."""
        return self._with_others(self._smooth(self._to_rewards(points)).values, points)

    def _with_others(self, smooth: Tensor, points: Tensor) -> Tensor:
        """Covariances (..., p, n) with the microscale variation and the effects added."""
        if self._has_own:
            smooth = smooth + self._own_between(points, self.points)
        return smooth + self.level[..., None, :] if self.evidence.effects else smooth

    def _own_between(self, left: Tensor, right: Tensor) -> Tensor:
        return self.own[..., None, None] * same_points(left, right)

    @cached_property
    def _has_own(self) -> bool:
        return bool(self.own.any())

    @cached_property
    def _to_rewards(self) -> ExponentsTo:
        return self.evidence.exponents_to(self.lengthscales, self.points)

    @cached_property
    def _columns(self) -> Tensor:
        """Solutions and sums of the rows of the inverse (..., n, 2)."""
        return torch.stack([self.solved, self.inverse.sum(-1)], -1)

    @cached_property
    def _unknown(self) -> Tensor:
        """Deviation (..., 1) of the unknown prior mean."""
        return self._columns[..., 1].sum(-1, keepdim=True).rsqrt()


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
        across: Their covariance (..., p, n) with the rewards.
        solved: The same times the inverse covariance of the rewards.
        unknown_mean: Deviation (..., p) that the unknown prior mean adds.
    """

    mean: Tensor
    prior: Prior
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
            for name in ("mean", "across", "solved", "unknown_mean")
        }
        points = self.prior.points.unflatten(0, (-1, 1, number))
        return replace(self, prior=replace(self.prior, points=points), **by_group)

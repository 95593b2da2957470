"""Bands of `self_normalised` about least squares with several regularisations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from surefoot._internal.linalg import cholesky
from surefoot._internal.numbers import TINY
from surefoot._internal.user_warnings import warn
from surefoot.regression.embedding import Embedding
from surefoot.regression.products import AT_ONCE
from surefoot.regression.sample import Sample
from surefoot.regression.units import RewardUnits
from surefoot.widths.least_squares import self_normalised
from surefoot.widths.progress import Progress

_SETTLED = 0.99  # of the spread of the noise, that another pass leaves


class Assumptions(Protocol):
    """What bounds rest on."""

    @property
    def norm_bound(self) -> float | None:
        """Bound on the norm of the function; None where it is found by doubling."""


def warn_contradicted(rule: Assumptions) -> None:
    """Warn that no function is close to the rewards, where a norm bound does not grow."""
    if rule.norm_bound is not None:  # else it has yet to reach the norm
        warn(
            f"the rewards contradict {rule!r}: no function of that norm is close to them, so what "
            "is assumed of the function or of the noise is too small, and the bounds do not hold.",
        )


@dataclass(frozen=True, eq=False)
class SelfNormalised:
    """Estimates with s regularisations and their reach, in the eigenvectors of the pulls' Gram.

    Args:
        embedding: The feature map phi.
        vectors: Eigenvectors (m, m) of the Gram matrix G of the pulls.
        values: Its eigenvalues (m,).
        filters: What V^{-1} is replaced by, on the eigenvectors (s, m): g / (g^2 + a g + a rho / v)
            for the regularisations a, by which bias and noise are least, v being the mean of W's.
        coefficients: Theta (s, m) of each.
        norm: Bound on the norm of f.
        missing: tr(K - K~) of the pulls, K~ the kernel matrix of the features.
        misfit: How far f may be from a function of that norm, anywhere.
        number: Number of pulls.
        root: (m, m), with root root' = (rho I + W) times the squared radius.
        units: Prior mean and output scale.
        contradicted: Whether no function is within the bounds of some site.
    """

    embedding: Embedding
    vectors: Tensor
    values: Tensor
    filters: Tensor
    coefficients: Tensor
    norm: float
    missing: float
    misfit: float
    number: int
    root: Tensor
    units: RewardUnits
    contradicted: bool = False

    def band(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Means and reaches (s, n) at points (n, d), in reward units."""
        features, units = self.embedding(points), self.units
        means, reaches = self.of_features(features, self.embedding.residual(points, features))
        return units.center + units.scale * means, units.scale * reaches

    def of_features(self, features: Tensor, residual: Tensor) -> tuple[Tensor, Tensor]:
        """The same, in units of the model, from features (n, m) and what these leave out (n,)."""
        rotated, filters = features @ self.vectors.to(features), self.filters.to(features)
        values = self.values.to(features)
        means = self.coefficients.to(features) @ rotated.T
        solved = filters.unsqueeze(1) * rotated  # (s, n, m)
        explained = rotated.square() @ (1.0 - values * filters).square().T  # (n, s)
        # Norm of the weights of the rewards (n, s).
        weights = (rotated.square() @ (values * filters.square()).T).clamp_min(TINY).sqrt()
        left = residual.clamp_min(TINY).sqrt().unsqueeze(-1) + math.sqrt(self.missing) * weights
        misfit = self.misfit * (1.0 + math.sqrt(self.number) * weights)
        bias = (self.norm * (explained + left.square()).clamp_min(TINY).sqrt() + misfit).T
        noise = (solved @ self.root.to(features)).square().sum(-1)
        return means, bias + noise.clamp_min(TINY).sqrt()

    def excess(self, points: Tensor, row: int) -> Tensor:
        """Most by which f at points (n, d) is larger than at one of them (n,).

        It is less than the difference of their bounds, in which what they share counts twice, and
        at most the norm times their distance in the kernel.
        """
        features = self.embedding(points)
        left = self.embedding.residual(points, features).clamp_min(0.0).sqrt()
        apart, residual = features - features[row], (left + left[row]).square()
        means, reaches = self.of_features(apart, residual)
        most = self.norm * (apart.square().sum(-1) + residual).sqrt() + self.misfit
        return self.units.scale * (torch.minimum((means + reaches).amin(0), most) + self.misfit)

    @classmethod
    def of(
        cls,
        rule: self_normalised,
        sample: Sample,
        residual: Tensor,
        embedding: Embedding,
        progress: Progress,
    ) -> SelfNormalised:
        """The bands of all rewards.

        Args:
            rule: The width.
            sample: The rewards.
            residual: What features leave of the prior variance at the sites (S,), rounding aside.
            embedding: The feature map.
            progress: State of the run.
        """
        counts, features, rho = sample.counts, sample.features, rule.rho(progress)
        eye = torch.eye(features.shape[1], dtype=features.dtype, device=features.device)
        values, vectors = torch.linalg.eigh(sample.factor.gram - sample.factor.ridge * eye)
        values = values.clamp_min(0.0)
        ridges = features.new_tensor(rule.ridges(progress)).unsqueeze(-1)
        level = rule.level(progress.round)
        filters = values / (values * (values + ridges) + ridges * (rho / level))
        theta = filters * (sample.moments(sample.sums) @ vectors)
        norm, missing = rule.norm(progress), max(float(counts @ residual), 0.0)
        further = (norm, missing, rule.misfit, sample.number, eye, sample.units)
        known = cls(embedding, vectors, values, filters, theta, *further)
        spread = _spread(rule, sample)
        most = norm * (residual + features.square().sum(-1)).sqrt() + rule.misfit
        upper = most.clamp_max(rule.limit(progress))
        lower, total = -upper, math.inf
        while True:
            weights, further_radius = spread(lower, upper)
            before, total = total, float(weights.sum())
            root = cholesky(rho * eye + AT_ONCE.gram(features, weights))
            log_det = float((root.diagonal().square() / rho).log().sum() + weights @ residual / rho)
            radius = math.sqrt(log_det + further_radius + 2.0 * math.log(1.0 / rule.delta))
            found = replace(known, root=radius * (vectors.T @ root))
            middle, reach = found.of_features(features, residual)
            lower = torch.maximum(lower, (middle - reach).amax(0))
            upper = torch.minimum(upper, (middle + reach).amin(0))
            if bool((lower > upper).any()):
                return replace(found, contradicted=True)
            if total > _SETTLED * before:
                return found


def _spread(
    rule: self_normalised, sample: Sample
) -> Callable[[Tensor, Tensor], tuple[Tensor, float]]:
    """Most that the sites' shares in W (S,) and what is added to the squared radius can be.

    A function of the lower and upper bounds of f at the sites (S,).
    """
    if rule.has_variance:
        counts = sample.counts
        means = sample.sums / counts
        squares = (sample.totals(sample.rewards.square()) - counts * means.square()).clamp_min(0.0)
        return lambda lower, upper: (rule.spread(counts, means, squares, lower, upper), 0.0)

    factors = [one.to(sample.rewards) for one in rule.factors(sample.number)]

    def powers(*ends: Tensor) -> tuple[Tensor, float]:
        residuals = [sample.rewards - end[sample.site] for end in ends]
        return rule.powers(residuals, factors, sample.totals)

    return powers

"""Means and deviations with other regularisations than that of the run, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import torch
from torch import Tensor

from surefoot._internal.linalg import cholesky
from surefoot.regression.posterior import LEAST_VARIANCE, Posterior
from surefoot.regression.sample import Sample
from surefoot.regression.units import RewardUnits


class OtherRidges(Protocol):
    """Estimates in the features of the run with s other regularisations, each with its width."""

    def band(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Means, and widths times deviations, (s, n) each at points (n, d)."""


@dataclass(frozen=True, eq=False)
class KeptUp:
    """Posteriors of regressions that are kept up to date, in features that last.

    Args:
        posteriors: The posteriors, at least one.
        widths: Their widths (s, 1).
    """

    posteriors: Sequence[Any]
    widths: Tensor

    def band(self, points: Tensor) -> tuple[Tensor, Tensor]:
        found = [posterior.mean_and_deviation(points) for posterior in self.posteriors]
        means, deviations = (torch.stack(column) for column in zip(*found, strict=True))
        return means, self.widths.to(means) * deviations


@dataclass(frozen=True, eq=False)
class FoundAnew:
    """Factors of the pulls in features that change with the rewards, found from that of the run.

    Args:
        posterior: The posterior of the run.
        ridge: The regularisation of the run.
        ridges: The others (s, 1).
        roots: Lower Cholesky factors (s, m, m) of V.
        coefficients: Theta (s, m).
        units: Prior mean and output scale.
        widths: The widths (s, 1); empty as long as they are not known.
    """

    posterior: Posterior
    ridge: float
    ridges: Tensor
    roots: Tensor
    coefficients: Tensor
    units: RewardUnits
    widths: Tensor

    @classmethod
    def of(cls, ridges: Sequence[float], sample: Sample, posterior: Posterior) -> FoundAnew:
        """Without widths, from the sample and the posterior of the run."""
        factor = sample.factor_of(sample.weighted_counts)
        others = factor.gram.new_tensor(ridges).unsqueeze(-1)
        eye = torch.eye(factor.dimension, dtype=others.dtype, device=others.device)
        roots = cholesky(factor.gram + (others - factor.ridge).unsqueeze(-1) * eye)
        moments = sample.moments(sample.weighted_sums).unsqueeze(-1)
        theta = torch.cholesky_solve(moments.expand(len(others), -1, 1), roots).squeeze(-1)
        return cls(posterior, factor.ridge, others, roots, theta, sample.units, others[:0])

    def band(self, points: Tensor) -> tuple[Tensor, Tensor]:
        embedding, units = self.posterior.embedding, self.units
        features = embedding(points)
        residual = embedding.residual(points, features)
        means = units.center + units.scale * (self.coefficients.to(features) @ features.T)
        root = self.roots.to(features)
        solved = torch.linalg.solve_triangular(
            root, features.T.expand(len(root), -1, -1), upper=False
        )
        explained = self.ridges.to(features) * solved.square().sum(-2)
        least = LEAST_VARIANCE * (residual + features.square().sum(-1)).detach()
        variance = torch.maximum(residual + explained, least)
        return means, units.scale * self.widths.to(features) * variance.sqrt()

    @cached_property
    def ceiling(self) -> Tensor:
        """At least the upper bounds of all arms (A,), where the posterior is tabulated.

        A variance is at most that of the prior, and grows no faster than the regularisation.
        """
        arms: Any = self.posterior
        table, deviation, scale = arms.table, arms.deviation_of_arms, self.units.scale
        means = self.units.center + scale * table.product(self.coefficients.T.to(deviation.device))
        growth = (self.ridges / self.ridge).clamp_min(1.0).sqrt()
        most = torch.minimum(growth.to(deviation) * deviation, scale * table.prior.sqrt())
        return (means.T + self.widths.to(deviation) * most).amin(0)

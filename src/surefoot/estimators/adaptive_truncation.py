"""Truncation in each direction of feature space, at the price of least squares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from surefoot import _checks
from surefoot.estimators.estimator import Estimate, Sample
from surefoot.ridge import RidgeFactor
from surefoot.tails import Moment
from surefoot.types import InvalidInput


@dataclass(frozen=True)
class AdaptiveTruncation:
    r"""ATA-GP-UCB's estimate :math:`\theta = V^{-1/2} r`,
    :math:`r_i = \sum_\tau u_{i\tau} y_\tau 1\{|u_{i\tau} y_\tau| \le b_t\}`.

    Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Algorithm 2, over all rewards at today's
    b_t = (v / L)^(1/(1+a)) t^((1-a)/(2(1+a))) with L = ln(2 m T / delta), or ln(4 m T / delta) with
    Nyström features (`unions` = 2 or 4).

    The same number is the ridge estimate less V^{-1/2} c, c_i the sum of the terms that are cut.
    Since |u_{i tau}| <= h_tau, the leverage's root, only rewards with |y| h > b can have any.

    `root` "symmetric" is the paper's V^{-1/2}; "cholesky" obeys the same bound (its rows have norm
    at most 1 as well) and costs less.
    """

    moment: Moment
    horizon: int
    delta: float = 0.1
    root: Literal["cholesky", "symmetric"] = "cholesky"
    unions: int = 2

    def __post_init__(self) -> None:
        _checks.count("horizon", self.horizon)
        _checks.probability("delta", self.delta)
        _checks.count("unions", self.unions)
        if self.root not in ("cholesky", "symmetric"):
            raise InvalidInput(f"`root` is {self.root!r}, expected 'cholesky' or 'symmetric'.")

    def threshold(self, round_: int, dimension: int) -> float:
        """b_t after t rewards in m features."""
        alpha, v = self.moment.alpha, self.moment.bound
        spread = math.log(self.unions * dimension * self.horizon / self.delta)
        return float(
            (v / spread) ** (1.0 / (1.0 + alpha))
            * round_ ** ((1.0 - alpha) / (2.0 * (1.0 + alpha)))
        )

    def __call__(
        self, factor: RidgeFactor, sample: Sample, start: Tensor | None = None
    ) -> Estimate:
        y = sample.rewards
        limit = self.threshold(len(y), factor.dimension)
        directions = self._directions(factor, sample.features)  # (S, m)
        height = directions.square().sum(-1).sqrt()
        candidates = (y.abs() * height[sample.site] > limit).nonzero().squeeze(-1)
        terms = directions[sample.site[candidates]] * y[candidates, None]  # (k, m)
        cut = terms.abs() > limit
        lost = torch.where(cut, terms, torch.zeros_like(terms)).sum(0)
        theta = factor.solve(sample.features.T @ sample.sums) - self._back(factor, lost)
        truncated = torch.zeros(len(y), dtype=torch.bool, device=y.device)
        truncated[candidates] = cut.any(-1)
        weights = torch.ones_like(y)
        kept = torch.where(cut, torch.zeros_like(terms), terms)
        weights[candidates] = kept.square().sum(-1) / terms.square().sum(-1).clamp_min(1e-300)
        return Estimate(theta, factor, weights, None, limit, truncated)

    def _directions(self, factor: RidgeFactor, features: Tensor) -> Tensor:
        """u = V^{-1/2} phi for each site."""
        if self.root == "cholesky":
            return factor.whiten(features)
        return features @ factor.symmetric_inverse_root

    def _back(self, factor: RidgeFactor, lost: Tensor) -> Tensor:
        """(V^{-1/2})' lost."""
        if self.root == "cholesky":
            return torch.linalg.solve_triangular(
                factor.root.T, lost.unsqueeze(-1), upper=True
            ).squeeze(-1)
        return factor.symmetric_inverse_root @ lost

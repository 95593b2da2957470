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
        number = len(sample.rewards)
        limit = self.threshold(number, factor.dimension)
        site, y, order = self._candidates(factor, sample, limit)
        terms = self._directions(factor, sample.features[site]) * y[:, None]  # (k, m)
        cut = terms.abs() > limit
        lost = torch.where(cut, terms, torch.zeros_like(terms)).sum(0)
        theta = factor.solve(sample.moments) - self._back(factor, lost)
        kept = torch.where(cut, torch.zeros_like(terms), terms).square().sum(-1)
        halved = kept < 0.25 * terms.square().sum(-1)
        last = bool((halved & (order == number - 1)).any())
        return Estimate(theta, factor, None, None, limit, int(halved.sum()), last)

    def _candidates(
        self, factor: RidgeFactor, sample: Sample, limit: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Sites, rewards and numbers (k,) of the rewards that can have a term above the limit."""
        if sample.live is not None and sample.leverage is not None:
            return sample.live.above(limit, sample.leverage)
        height = factor.leverage(sample.features).sqrt()
        order = (sample.rewards.abs() * height[sample.site] > limit).nonzero().squeeze(-1)
        return sample.site[order], sample.rewards[order], order

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

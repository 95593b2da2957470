"""Truncation in each direction of feature space, at the price of least squares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from surefoot._internal import checks, doubling
from surefoot.estimators.estimator import Estimate, Measured, totals
from surefoot.estimators.live_rewards import FAR, Columns, LiveRewards
from surefoot.estimators.log import Terms
from surefoot.regression.ridge import RidgeFactor
from surefoot.tails import Moment
from surefoot.types import InvalidInput


@dataclass(frozen=True)
class AdaptiveTruncation:
    r"""ATA-GP-UCB's estimate :math:`\theta = V^{-1/2} r`,
    :math:`r_i = \sum_\tau u_{i\tau} y_\tau 1\{|u_{i\tau} y_\tau| \le b_t\}`.

    Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Algorithm 2, over all rewards at today's
    b_t = (v / L)^(1/(1+a)) t^((1-a)/(2(1+a))) with L = ln(2 m T / delta), or ln(4 m T / delta) with
    Nyström features (`unions` = 2 or 4). A `horizon` T of None is guessed, and doubled whenever it
    is reached, with a share of delta for each guess (`doubling.horizon`), so that the paper's
    bounds hold in all rounds; the threshold falls a little at each new guess.

    The same number is the ridge estimate less V^{-1/2} c, c_i the sum of the terms that are cut.
    Since |u_{i tau}| <= h_tau, the leverage's root, only rewards with |y| h > b can have any.

    `root` "symmetric" is the paper's V^{-1/2}; "cholesky" obeys the same bound (its rows have norm
    at most 1 as well) and costs less.
    """

    moment: Moment
    horizon: int | None = None
    delta: float = 0.1
    root: Literal["cholesky", "symmetric"] = "cholesky"
    unions: int = 2

    def __post_init__(self) -> None:
        if self.horizon is not None:
            checks.count("horizon", self.horizon)
        checks.probability("delta", self.delta)
        checks.count("unions", self.unions)
        if self.root not in ("cholesky", "symmetric"):
            raise InvalidInput(f"`root` is {self.root!r}, expected 'cholesky' or 'symmetric'.")

    def threshold(self, round_: int, dimension: int) -> float:
        """b_t after t rewards in m features."""
        alpha, v = self.moment.alpha, self.moment.bound
        horizon, delta = doubling.horizon(self.horizon, self.delta, round_)
        spread = math.log(self.unions * max(dimension, 1) * horizon / delta)
        return float(
            (v / spread) ** (1.0 / (1.0 + alpha))
            * round_ ** ((1.0 - alpha) / (2.0 * (1.0 + alpha)))
        )

    def log(self, terms: Terms) -> LiveRewards:
        return LiveRewards(terms, self)

    def __call__(
        self, factor: RidgeFactor, sample: Measured, start: Tensor | None = None
    ) -> Estimate:
        number = sample.number
        limit = self.threshold(number, factor.dimension)
        moments, found = self._candidates(factor, sample, limit)
        theta = factor.solve(moments)
        n = found.number
        if n == 0 or factor.dimension == 0:
            return Estimate(theta, factor, None, None, limit)
        y, far = found.reward[:n], found.far[:n]
        features = sample.features.cpu().numpy().take(found.site[:n], 0)  # quicker than torch
        u = self._directions(factor, features)  # (m, k)
        terms = u * y
        cut = np.abs(terms) > limit
        if found.any_far:  # these are not in the moments: what is kept of them comes in
            terms = terms * np.where(far, cut.astype(float) - 1.0, cut)
        elif np.count_nonzero(cut):
            terms = terms * cut
        else:
            return Estimate(theta, factor, None, None, limit)
        theta = theta - torch.from_numpy(self._back(factor, np.add.reduce(terms, 1))).to(theta)
        squares = u * u
        halved = np.add.reduce(squares * cut, 0) > 0.75 * np.add.reduce(squares, 0)
        last = bool(halved[-1]) and int(found.order[n - 1]) == number - 1
        return Estimate(theta, factor, None, None, limit, int(np.count_nonzero(halved)), last)

    def _candidates(
        self, factor: RidgeFactor, sample: Measured, limit: float
    ) -> tuple[Tensor, Columns]:
        """Phi'y of the rewards that are not far; the far, and those that may be cut."""
        log = sample.log
        if isinstance(log, LiveRewards) and sample.leverage is not None:
            if log.is_due(limit):
                least = min(limit, log.limit(sample.number))
                if least < log.least:
                    log.take_back(sample.site, sample.rewards)
                log.look(limit, least, sample.leverage)
            return sample.moments, log.above
        y, site = sample.rewards, sample.site
        height = factor.leverage(sample.features).sqrt()
        far = y.abs() > FAR * limit
        order = ((y.abs() * height[site] > limit) | far).nonzero().squeeze(-1)
        moments = sample.moments
        if bool(far.any()):
            moments = sample.features.T @ totals(sample, y.masked_fill(far, 0.0))
        chosen = (x.cpu().numpy() for x in (site[order], y[order], order, far[order]))
        return moments, Columns.of(*chosen)

    def _directions(self, factor: RidgeFactor, features: np.ndarray) -> np.ndarray:
        """Columns u = V^{-1/2} phi for each row phi."""
        if self.root == "cholesky":
            return factor.directions(features)
        return factor.symmetric_inverse_root.cpu().numpy() @ features.T

    def _back(self, factor: RidgeFactor, lost: np.ndarray) -> np.ndarray:
        """(V^{-1/2})' lost."""
        if self.root == "cholesky":
            return factor.undirected(lost)
        return factor.symmetric_inverse_root.cpu().numpy() @ lost

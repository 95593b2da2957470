"""Truncation in each direction of feature space, at the cost of least squares."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from surefoot._internal import checks, doubling
from surefoot._internal.tensors import NO_VALUES
from surefoot.estimators.estimator import Constants
from surefoot.estimators.live_rewards import FAR, LiveRewards
from surefoot.regression.regression import Estimate
from surefoot.regression.sample import Sample
from surefoot.tails import Moment
from surefoot.tails.moment import check_raw_moment

Product = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class AdaptiveTruncation:
    r"""ATA-GP-UCB's estimate :math:`\theta = V^{-1/2} r`,
    :math:`r_i = \sum_\tau u_{i\tau} y_\tau 1\{|u_{i\tau} y_\tau| \le b_t\}`.

    The sum is over all rewards, with the threshold of the current round,
    b_t = (v / L)^(1/(1+a)) t^((1-a)/(2(1+a))), and L = ln(2 m T / delta), or ln(4 m T / delta) with
    Nyström features. It is computed as the ridge estimate less V^{-1/2} c, with c_i the sum of the
    truncated terms. Since |u_{i tau}| <= h_tau, the root of the leverage, only rewards with
    h |y| > b_t have truncated terms.

    Args:
        moment: The moment E|y|^(1 + alpha) <= v that is assumed, in reward units.
        horizon: Number of rounds T. None starts at 1024 and doubles it whenever it is reached,
            with a share of delta for each, so that bounds that hold for each T hold in all rounds;
            the threshold falls a little at each doubling.
        delta: Probability with which the bounds may fail, in (0, 1]. With 1, and 1 for `unions`,
            L = ln(m T) as in the paper's experiments, without a guarantee.
        root: "symmetric" is the paper's V^{-1/2}; "cholesky" obeys the same bound (its rows have
            norm at most 1 as well) and costs less.
        unions: Factor c of L = ln(c m T / delta), from the union bounds: 2 with quadrature features
            (Lemma 1), 4 with Nyström features (Theorem 4), 1 in the paper's experiments.

    Raises:
        InvalidInput: If an argument is out of range.

    References:
        Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Algorithm 2.

    Example:
        >>> import surefoot as sf
        >>> estimator = sf.AdaptiveTruncation(sf.Moment(alpha=1.0, bound=4.0), horizon=1000)
    """

    moment: Moment
    horizon: int | None = None
    delta: float = 0.1
    root: Literal["cholesky", "symmetric"] = "cholesky"
    unions: int = 2

    def __post_init__(self) -> None:
        check_raw_moment(self.moment)
        if self.horizon is not None:
            checks.count("horizon", self.horizon)
        checks.share("delta", self.delta)
        checks.count("unions", self.unions)
        checks.choice("root", self.root, "cholesky", "symmetric")

    def threshold(self, round_: int, dimension: int) -> float:
        """b_t after t rewards in m features."""
        alpha, v = self.moment.alpha, self.moment.bound
        horizon, delta = doubling.horizon(self.horizon, self.delta, round_)
        spread = math.log(self.unions * max(dimension, 1) * horizon / delta)
        if spread == 0.0:  # one feature in one round, and nothing that may fail
            return math.inf
        return float(
            (v / spread) ** (1.0 / (1.0 + alpha))
            * round_ ** ((1.0 - alpha) / (2.0 * (1.0 + alpha)))
        )

    def init(self, constants: Constants) -> LiveRewards:
        """The state before the first reward."""
        return LiveRewards(constants)

    def update(self, state: LiveRewards, site: int, reward: float) -> LiveRewards:
        """The state after one more reward at a site."""
        reward = state.units.transform_value(reward)
        limit = self.threshold(state.number + 1, state.constants.dimension)
        state.append(site, reward, abs(reward) > FAR * limit)
        return state

    def estimate(self, state: LiveRewards, sample: Sample) -> tuple[Estimate, LiveRewards]:
        """The estimate from all rewards, and the next state."""
        if state.units != sample.units:
            state = self._in_units(state.constants, sample)
        factor, features = sample.factor, sample.features
        limit = self.threshold(state.number, factor.dimension)
        self._search(state, sample, limit)
        sums = torch.from_numpy(state.sums[: len(features)]).to(features.device)
        theta = factor.solve(sample.moments(sums))
        found, n = state.above, state.above.number
        if n == 0 or factor.dimension == 0:
            return Estimate(theta, NO_VALUES, limit), state
        y, far = found.reward[:n], found.far[:n]
        rows = features.cpu().numpy().take(found.site[:n], 0)  # quicker than torch
        directions, back = self._root(sample)
        u = directions(rows)  # (m, k)
        terms = u * y
        cut = np.abs(terms) > limit
        if found.any_far:  # these are not in the sums: what is kept of them comes in
            terms = terms * np.where(far, cut.astype(float) - 1.0, cut)
        elif np.count_nonzero(cut):
            terms = terms * cut
        else:
            return Estimate(theta, NO_VALUES, limit), state
        theta = theta - torch.from_numpy(back(np.add.reduce(terms, 1))).to(theta)
        squares = u * u
        halved = np.add.reduce(squares * cut, 0) > 0.75 * np.add.reduce(squares, 0)
        last = bool(halved[-1]) and int(found.order[n - 1]) == state.number - 1
        return Estimate(theta, NO_VALUES, limit, int(np.count_nonzero(halved)), last), state

    def _search(self, state: LiveRewards, sample: Sample, limit: float) -> None:
        """Find the rewards of which a term may be truncated."""
        cheap = self.root == "cholesky"  # the symmetric root costs more than a search
        if cheap and not state.is_due(limit, sample.version):
            return
        least = min(limit, self.threshold(state.number, state.constants.dimension))
        if least < state.least:
            state.restore(sample.site.cpu().numpy(), sample.rewards.cpu().numpy())
        state.search(limit, least, sample.version, sample.leverage_bound)

    def _in_units(self, constants: Constants, sample: Sample) -> LiveRewards:
        state = LiveRewards(constants, sample.units)
        for site, reward in zip(sample.site.tolist(), sample.rewards.tolist(), strict=True):
            limit = self.threshold(state.number + 1, constants.dimension)
            state.append(site, reward, abs(reward) > FAR * limit)
        return state

    def _root(self, sample: Sample) -> tuple[Product, Product]:
        """Rows phi (k, m) to columns V^{-1/2} phi (m, k); totals (m,) to (V^{-1/2})' totals."""
        factor = sample.factor
        if self.root == "cholesky":
            return factor.directions, factor.undirected
        times = factor.symmetric_product(sample.features, sample.counts)
        return lambda rows: times(rows.T), times

"""Truncation in each direction of feature space, at the cost of least squares."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch

from surefoot._internal import checks, doubling
from surefoot._internal.tensors import NO_VALUES
from surefoot.estimators.estimator import Constants
from surefoot.regression.observations import grown
from surefoot.regression.regression import Estimate
from surefoot.regression.sample import Sample
from surefoot.regression.units import RewardUnits
from surefoot.tails.moment import Moment, check_raw_moment

FAR = 1e6  # times the threshold: there the rounding of a sum would show in what is left of it
_LOOK = 8  # rewards between searches for those above the threshold


@dataclass(eq=False)
class Rewards:
    """Sites, rewards and their numbers, and which are far, as arrays that grow."""

    number: int = 0
    any_far: bool = False
    site: np.ndarray = field(default_factory=lambda: np.zeros(64, dtype=np.int64))
    reward: np.ndarray = field(default_factory=lambda: np.zeros(64))
    order: np.ndarray = field(default_factory=lambda: np.zeros(64, dtype=np.int64))
    far: np.ndarray = field(default_factory=lambda: np.zeros(64, dtype=bool))

    def append(self, site: int, reward: float, order: int, far: bool) -> None:
        n = self.number
        if n == len(self.site):
            self.site, self.reward = grown(self.site, n), grown(self.reward, n)
            self.order, self.far = grown(self.order, n), grown(self.far, n)
        self.site[n], self.reward[n], self.order[n], self.far[n] = site, reward, order, far
        self.any_far |= far
        self.number = n + 1

    def keep(self, source: Rewards, chosen: np.ndarray) -> None:
        """Hold the chosen entries of a source, which may be this one."""
        for name in ("site", "reward", "order", "far"):
            column = getattr(self, name)
            if len(column) < chosen.size:
                column = np.zeros(2 * chosen.size, dtype=column.dtype)
                setattr(self, name, column)
            column[: chosen.size] = getattr(source, name)[chosen]
        self.number, self.any_far = chosen.size, source.any_far


@dataclass(eq=False)
class LiveRewards:
    """Sites and rewards with |y| h > b, h the root of the leverage phi' V^{-1} phi.

    n pulls of a site leave h^2 <= 1 / (n + ridge / k(x, x)), in whatever features. This bound only
    falls, so while thresholds rise a reward once below need not be kept; what stays is few. When
    the threshold falls (a horizon is doubled), all rewards are examined again.

    Leverages themselves fall as long as the features last: those above the threshold when it was
    last searched, and the rewards since, are all that can be above now.

    Rewards a million thresholds away never enter the sums, which would keep their rounding when
    they are truncated; they stay live for good.
    """

    constants: Constants
    units: RewardUnits = field(default_factory=RewardUnits)
    sums: np.ndarray = field(default_factory=lambda: np.zeros(64))  # of the sites, none far
    pulls: np.ndarray = field(default_factory=lambda: np.zeros(64))
    number: int = 0
    live: Rewards = field(default_factory=Rewards)
    above: Rewards = field(default_factory=Rewards)  # when last searched, and all since
    least: float = 0.0  # the threshold below which rewards were dropped
    threshold: float = np.inf  # when last searched
    searched_at: int = 0
    version: int = -1  # of the features then

    def append(self, site: int, reward: float, far: bool) -> None:
        """One more reward, in the units of the thresholds."""
        self.sums, self.pulls = grown(self.sums, site), grown(self.pulls, site)
        self.live.append(site, reward, self.number, far)
        self.above.append(site, reward, self.number, far)
        self.pulls[site] += 1.0
        if not far:
            self.sums[site] += reward
        self.number += 1

    def restore(self, site: np.ndarray, rewards: np.ndarray) -> None:
        """Take all rewards (t,) in again, since thresholds will be lower than was expected."""
        live, order = self.live, np.arange(len(rewards))
        far = np.isin(order, live.order[: live.number][live.far[: live.number]])
        self.live = Rewards(len(rewards), bool(far.any()), site.copy(), rewards.copy(), order, far)

    def is_due(self, threshold: float, version: int) -> bool:
        """Whether `above` must be searched again for a threshold and features."""
        stale = version != self.version or threshold < self.threshold
        return stale or self.number >= self.searched_at + _LOOK

    def search(
        self,
        threshold: float,
        least: float,
        version: int,
        leverage: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        """Find those above a threshold; no later one is below `least`."""
        live, n = self.live, self.live.number
        size, far = np.abs(live.reward[:n]), live.far[:n]
        offset = self.constants.ridge / self.constants.prior_variance
        height = 1.0 / np.sqrt(self.pulls[live.site[:n]] + offset)
        stays = ((size * height > least) | far).nonzero()[0]
        size, far = size[stays], far[stays]
        live.keep(live, stays)
        height = np.sqrt(leverage(live.site[: stays.size]))
        self.above.keep(live, ((size * height > threshold) | far).nonzero()[0])
        self.least, self.threshold = least, threshold
        self.searched_at, self.version = self.number, version


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

"""Rewards that a rising threshold may still truncate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from surefoot.estimators.estimator import Constants
from surefoot.regression.observations import grown
from surefoot.regression.units import RewardUnits

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

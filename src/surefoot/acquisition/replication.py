"""Replication: measuring a promising point again, and knowing which points are unstable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy import special

from surefoot._internal import checks
from surefoot._internal.numbers import FEWEST, OUTLYING
from surefoot.acquisition.policy import Policy, UpperConfidenceBound, as_policy
from surefoot.acquisition.scores import PolicyState, ScoreRule
from surefoot.beliefs import Belief
from surefoot.kernels.evaluation import correlation
from surefoot.spaces import Arms, Box, Joint
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.regression.observations import Observations
    from surefoot.risks import Risk
    from surefoot.spaces.locations import Location

SINCE = "rounds since replication"  # in the policy's memory
_QUARTER = 0.25  # quantile of deviations that estimates the noise, and probability by chance


@dataclass(frozen=True)
class Instability:
    r"""Rule for points whose replicates differ more than those of points elsewhere.

    A replicate is outlying if it deviates from the median of its point by more than `spread` of
    that median, and by more than 3.5 deviations of the noise, as the quieter quarter of the points
    shows it; the median of an even number is the lower of the two. A point is
    unstable if it has at least three replicates, and as many outlying ones as it has, or more,
    would have a probability of at most a quarter, at their rate of all other points (it alone is
    unstable) or of those elsewhere (its surroundings are), where each point counts by how little
    its function value is correlated with that of the point. So noise with outliers everywhere makes
    few points unstable.

    Args:
        spread: Share of the median; `math.inf` for never.
        relative: Whether `spread` is such a share, or in the units of the rewards, as it is for
            logarithms of values.

    Raises:
        InvalidInput: If `spread` is not a number above 0, or `relative` not a boolean.

    References:
        Freischuetz, Kanellis, Kroth and Venkataraman 2025, "TUNA: Tuning unstable and noisy cloud
        applications", Section 4.2, for instability by the range of replicates.

    Example:
        >>> import surefoot as sf
        >>> kernel = sf.kernels.precomputed(torch.eye(5))
        >>> optimizer = sf.Optimizer(sf.Arms(5), sf.Method(kernel))
        >>> for arm in range(4):
        ...     info = optimizer.tell_all([arm] * 4, [10.0, 10.1, 9.9, 10.0])
        >>> info = optimizer.tell_all([4] * 4, [10.0, 16.0, 10.1, 5.0])
        >>> Instability(0.2)(optimizer.history, kernel).tolist()
        [4]
    """

    spread: float
    relative: bool = True

    def __post_init__(self) -> None:
        if not (isinstance(self.spread, float) and self.spread == math.inf):
            checks.positive("spread", self.spread)
        checks.truth("relative", self.relative)

    def __call__(self, observations: Observations, kernel: Kernel) -> np.ndarray:
        """Indices (k,) of the unstable sites, in ascending order.

        Args:
            observations: The rewards, by distinct sites.
            kernel: Prior covariance of the function values at two sites.
        """
        counts = observations.counts.cpu().numpy()
        repeated = np.flatnonzero(counts > 1)
        if self.spread == math.inf or len(repeated) < 1 + FEWEST:
            return repeated[:0]
        rewards, site = observations.rewards.cpu().numpy(), observations.site.cpu().numpy()
        order = np.argsort(site, kind="stable")
        groups = np.split(rewards[order], np.cumsum(np.bincount(site))[:-1])
        replicates = [groups[index] for index in repeated]
        medians = np.array([np.quantile(group, 0.5, method="lower") for group in replicates])
        numbers = counts[repeated]
        scales = [np.ptp(group) / _small_range(len(group)) for group in replicates]
        scale = np.quantile(scales, _QUARTER)
        limits = self.spread * (np.abs(medians) if self.relative else np.ones(len(medians)))
        limits = np.maximum(limits, OUTLYING * scale)
        outlying = np.array(
            [
                np.count_nonzero(np.abs(group - median) > limit)
                for group, median, limit in zip(replicates, medians, limits, strict=True)
            ]
        )
        if not outlying.any():
            return repeated[:0]
        sites = observations.sites[repeated]
        with torch.no_grad():
            elsewhere = 1.0 - correlation(kernel, sites, sites).clamp_max(1.0).cpu().numpy()
        rate = np.minimum(
            *(
                (others @ outlying + 0.5) / (others @ numbers + 1.0)
                for others in (1.0 - np.eye(len(repeated)), elsewhere)
            )
        )
        chance = special.bdtrc(outlying - 1, numbers.astype(int), rate)  # P(at least as many)
        return repeated[(numbers >= FEWEST) & (outlying > 0) & (chance <= _QUARTER)]


STABLE = Instability(math.inf)


@dataclass(frozen=True)
class Replication:
    """Measures the best known point again, ever more rarely; else chooses as another policy does.

    The best known point is the measured one of largest posterior mean. After its n-th reward it is
    measured again once n other queries were made, until it has `most` rewards. So a point that
    stays the best is replicated about sqrt(2 T) times in T rounds, a new one at once, and at most
    every second query is a replicate.

    Args:
        policy: The other policy, or a score.
        most: Rewards of one point at most, those of pending queries among them.

    Raises:
        InvalidInput: If `most` is not a positive whole number.

    References:
        Binois, Huang, Gramacy and Ludkovski 2019, "Replication or exploration? Sequential design
        for stochastic simulation experiments".

    Example:
        >>> import surefoot as sf
        >>> policy = sf.acquisition.Replication(most=3)
        >>> space, kernel = sf.Box([0.0], [1.0]), sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.Optimizer(space, sf.Method(kernel, policy=policy))
        >>> info = optimizer.tell_all([[0.2], [0.6]], [0.0, 1.0])
        >>> [round(float(optimizer.ask().point), 1) == 0.6 for _ in range(4)]
        [False, True, False, False]
    """

    policy: Policy | ScoreRule = field(default_factory=UpperConfidenceBound)
    most: int = 10

    def __post_init__(self) -> None:
        as_policy(self.policy)
        checks.count("most", self.most)

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Refuse an environment, whose values differ from one reward to the next, and more.

        Raises:
            InvalidInput: On a `Joint` space, and where the other policy refuses.
        """
        if space.has_environment:
            raise InvalidInput(
                "`Replication` came with a `Joint` space, whose rewards differ with the "
                "environment: pass a policy for risks."
            )
        as_policy(self.policy).check(space, risk)

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        """The best known point where it is due, else what the other policy chooses."""
        since = state.memory.get(SINCE, 0)
        if among is None:
            observations = belief.outcome.observations
            with torch.no_grad():
                space, sites = belief.space.seen, observations.sites  # without an environment
                values = belief.candidates.bound(sites, 0.0)
                allowed = space.allows(sites) & (space.brought_inside(sites) == sites).all(-1)
                best = int(torch.where(allowed, values, -torch.inf).argmax())
            arm = observations.arms[best] if space.finite else None
            location = space.location(observations.sites[best].clone(), arm)
            rewards = int(observations.counts[best]) + _pending(belief, location)
            if bool(allowed[best]) and rewards < self.most and since >= rewards:
                state.memory[SINCE] = 0
                return location
        state.memory[SINCE] = since + 1
        return as_policy(self.policy).choose(belief, among, state)


def _pending(belief: Belief, location: Location) -> int:
    """Rewards of a location that are still to come."""
    waiting = belief.pending.by_id.values()
    return sum(one.missing for one in waiting if torch.equal(one.location.point, location.point))


@lru_cache(maxsize=256)
@np.errstate(under="ignore")  # whatever the caller has set
def _small_range(number: int) -> float:
    """The `_QUARTER` quantile of the range of so many independent standard normal values."""
    from scipy.stats import studentized_range  # half a second, which most runs never need

    return float(studentized_range.ppf(_QUARTER, number, np.inf))

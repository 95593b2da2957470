"""Rewards too large for their round count as zero."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from surefoot._internal.tensors import NO_VALUES
from surefoot.estimators.estimator import Constants
from surefoot.regression.observations import grown
from surefoot.regression.regression import Estimate
from surefoot.regression.sample import Sample
from surefoot.regression.units import RewardUnits
from surefoot.tails.moment import Moment, check_raw_moment


@dataclass(eq=False)
class TruncatedSums:
    """Sums of the truncated rewards: each is decided in its own round.

    Args:
        units: The units of the thresholds.
    """

    units: RewardUnits = field(default_factory=RewardUnits)
    sums: np.ndarray = field(default_factory=lambda: np.zeros(64))  # of the sites
    number: int = 0
    truncated: int = 0
    last_truncated: bool = False


@dataclass(frozen=True)
class Truncation:
    r"""TGP-UCB's rewards :math:`y\,1\{|y| \le b_t\}`, t the round of the pull.

    :math:`b_t = v^{1/(1+\alpha)} t^{1/(2(1+\alpha))}`. Truncation is about zero: rewards far from
    zero are all bias, so center them first.

    Args:
        moment: The moment E|y|^(1 + alpha) <= v that is assumed, in reward units.

    References:
        Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Algorithm 1.

    Example:
        >>> import surefoot as sf
        >>> sf.Truncation(sf.Moment(alpha=1.0, bound=4.0)).threshold(16)
        4.0
    """

    moment: Moment

    def __post_init__(self) -> None:
        check_raw_moment(self.moment)

    def threshold(self, round_: int) -> float:
        """b_t in round t = 1, 2, ..."""
        power = 1.0 / (1.0 + self.moment.alpha)
        return float(self.moment.bound**power * round_ ** (0.5 * power))

    def init(self, constants: Constants) -> TruncatedSums:
        """The state before the first reward."""
        return TruncatedSums()

    def update(self, state: TruncatedSums, site: int, reward: float) -> TruncatedSums:
        """The state after one more reward at a site."""
        reward = state.units.transform_value(reward)
        state.number += 1
        state.sums = grown(state.sums, site)
        state.last_truncated = abs(reward) > self.threshold(state.number)
        if state.last_truncated:
            state.truncated += 1
        else:
            state.sums[site] += reward
        return state

    def estimate(self, state: TruncatedSums, sample: Sample) -> tuple[Estimate, TruncatedSums]:
        """The estimate from all rewards, and the next state."""
        if state.units != sample.units:
            state = self._in_units(sample)
        features = sample.features
        sums = torch.from_numpy(state.sums[: len(features)]).to(features.device)
        theta = sample.factor.solve(sample.moments(sums))
        limit = self.threshold(state.number)
        return Estimate(theta, NO_VALUES, limit, state.truncated, state.last_truncated), state

    def weights(self, estimate: Estimate, sample: Sample) -> Tensor:
        """1 for the rewards that were kept (t,), 0 for the others."""
        return self._kept(sample.rewards).to(torch.float64)

    def _kept(self, rewards: Tensor) -> Tensor:
        rounds = range(1, len(rewards) + 1)
        return rewards.abs() <= rewards.new_tensor([self.threshold(t) for t in rounds])

    def _in_units(self, sample: Sample) -> TruncatedSums:
        kept = self._kept(sample.rewards)
        sums = sample.totals(sample.rewards * kept).cpu().numpy()
        return TruncatedSums(sample.units, sums, len(kept), int((~kept).sum()), not bool(kept[-1]))

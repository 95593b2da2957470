"""Rewards too large for their round count as zero."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot.estimators.estimator import Estimate, Measured
from surefoot.estimators.log import Terms
from surefoot.regression.ridge import RidgeFactor
from surefoot.tails import Moment


@dataclass(frozen=True)
class Truncation:
    """TGP-UCB's rewards y 1{|y| <= b_t}, b_t = v^(1/(1+a)) t^(1/(2(1+a))), t the pull's own round.

    Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Algorithm 1. Truncation is about zero:
    rewards far from zero are all bias, so centre them first.
    """

    moment: Moment

    def threshold(self, round_: int) -> float:
        """b_t in round t = 1, 2, ..."""
        power = 1.0 / (1.0 + self.moment.alpha)
        return float(self.moment.bound**power * round_ ** (0.5 * power))

    def keep(self, reward: float, round_: int) -> float:
        """What is kept of the reward of a round."""
        return reward if abs(reward) <= self.threshold(round_) else 0.0

    def log(self, terms: Terms) -> KeptRewards:
        return KeptRewards(self)

    def __call__(
        self, factor: RidgeFactor, sample: Measured, start: Tensor | None = None
    ) -> Estimate:
        limit = self.threshold(sample.number)
        if isinstance(sample.log, KeptRewards):
            theta = factor.solve(sample.moments)
            log = sample.log
            return Estimate(theta, factor, None, None, limit, log.cut, log.last_cut)
        kept = torch.tensor(
            [self.keep(y, t) for t, y in enumerate(sample.rewards.tolist(), start=1)],
            dtype=sample.rewards.dtype,
            device=sample.rewards.device,
        )
        sums = torch.zeros_like(sample.sums).index_add_(0, sample.site, kept)
        theta = factor.solve(sample.features.T @ sums)
        dropped = kept != sample.rewards
        weights = (~dropped).to(kept.dtype)
        total, last = int(dropped.sum()), bool(dropped[-1])
        return Estimate(theta, factor, weights, None, limit, total, last)


class KeptRewards:
    """How many rewards were cut: each is decided in its own round, so none is needed again."""

    def __init__(self, rule: Truncation) -> None:
        self._rule = rule
        self._number = 0
        self.cut = 0
        self.last_cut = False

    def append(self, site: int, reward: float) -> float:
        self._number += 1
        kept = self._rule.keep(reward, self._number)
        self.last_cut = kept != reward
        self.cut += self.last_cut
        return kept

    def redrawn(self) -> None:
        """Nothing here depends on the features."""

    def state(self) -> dict[str, Tensor]:
        return {"cut": torch.tensor([self._number, self.cut, int(self.last_cut)])}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self._number, self.cut, last = tensors["cut"].tolist()
        self.last_cut = bool(last)

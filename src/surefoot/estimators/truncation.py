"""Rewards too large for their round count as zero."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot.estimators.estimator import Estimate, Sample
from surefoot.ridge import RidgeFactor
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

    def __call__(
        self, factor: RidgeFactor, sample: Sample, start: Tensor | None = None
    ) -> Estimate:
        limit = self.threshold(len(sample.rewards))
        if sample.known_moments is not None:
            theta = factor.solve(sample.moments)
            changed, last = sample.changed, sample.last_changed
            return Estimate(theta, factor, None, None, limit, changed, last)
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

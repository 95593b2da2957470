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

    def threshold(self, round_: Tensor | float) -> Tensor:
        """b_t for rounds t = 1, 2, ..."""
        alpha, v = self.moment.alpha, self.moment.bound
        rounds = torch.as_tensor(round_, dtype=torch.float64)
        return v ** (1.0 / (1.0 + alpha)) * rounds ** (1.0 / (2.0 * (1.0 + alpha)))

    def __call__(
        self, factor: RidgeFactor, sample: Sample, start: Tensor | None = None
    ) -> Estimate:
        y = sample.rewards
        limits = self.threshold(torch.arange(1, len(y) + 1, device=y.device))
        dropped = y.abs() > limits
        lost = torch.zeros_like(sample.sums)
        lost.index_add_(0, sample.site[dropped], y[dropped])
        theta = factor.solve(sample.features.T @ (sample.sums - lost))
        weights = (~dropped).to(y.dtype)
        return Estimate(theta, factor, weights, None, float(limits[-1]), dropped)

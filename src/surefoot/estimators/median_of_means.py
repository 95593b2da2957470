"""Coefficients from separate blocks of rewards, and the block that most others are close to."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot import _checks
from surefoot.estimators.estimator import Estimate, Sample
from surefoot.ridge import RidgeFactor


@dataclass(frozen=True)
class MedianOfMeans:
    """Ridge estimates of `blocks` interleaved blocks, combined by their generalised median.

    The median is the block whose median distance to the others, in the norm of V, is least (Hsu
    and Sabato 2016, Algorithm 2; for linear bandits Shao et al. 2018). Each block solves its own
    ridge problem: the cost is `blocks` factorisations and one pass over all rewards.
    """

    blocks: int = 9

    def __post_init__(self) -> None:
        _checks.count("blocks", self.blocks)

    def __call__(
        self, factor: RidgeFactor, sample: Sample, start: Tensor | None = None
    ) -> Estimate:
        y, sites = sample.rewards, len(sample.features)
        number = min(self.blocks, len(y))
        slot = sample.site + sites * (torch.arange(len(y), device=y.device) % number)
        sums = y.new_zeros(number * sites).index_add_(0, slot, y).reshape(number, sites)
        counts = y.new_zeros(number * sites).index_add_(0, slot, torch.ones_like(y))
        estimates = torch.stack(
            [
                RidgeFactor.of(sample.features, factor.ridge, seen).solve(sample.features.T @ total)
                for seen, total in zip(counts.reshape(number, sites), sums, strict=True)
            ]
        )
        placed = estimates @ factor.root  # ||a - b||_V is the distance of these
        chosen = int(torch.cdist(placed, placed).median(-1).values.argmin())
        return Estimate(estimates[chosen], factor)

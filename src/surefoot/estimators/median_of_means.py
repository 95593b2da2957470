"""Coefficients from separate blocks of rewards, and the block that most others are close to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.linalg import cholesky
from surefoot.estimators.estimator import Estimate, Measured
from surefoot.estimators.log import Terms
from surefoot.regression.ridge import RidgeFactor


@dataclass(frozen=True)
class MedianOfMeans:
    """Ridge estimates of `blocks` interleaved blocks, combined by their generalised median.

    The median is the block whose median distance to the others, in the norm of V, is least (Hsu
    and Sabato 2016, Algorithm 2; for linear bandits Shao et al. 2018). Each block solves its own
    ridge problem: the cost is `blocks` factorisations.
    """

    blocks: int = 9

    def __post_init__(self) -> None:
        checks.count("blocks", self.blocks)

    def log(self, terms: Terms) -> BlockSums:
        return BlockSums(self.blocks)

    def __call__(
        self, factor: RidgeFactor, sample: Measured, start: Tensor | None = None
    ) -> Estimate:
        y, sites = sample.rewards, len(sample.features)
        number = min(self.blocks, len(y))
        if isinstance(sample.log, BlockSums):
            counts, sums = (x.to(y.device) for x in sample.log.of(number, sites))
        else:
            slot = sample.site + sites * (torch.arange(len(y), device=y.device) % number)
            sums = y.new_zeros(number * sites).index_add_(0, slot, y).reshape(number, sites)
            ones = torch.ones_like(y)
            counts = y.new_zeros(number * sites).index_add_(0, slot, ones).reshape(number, sites)
        phi = sample.features
        eye = torch.eye(factor.dimension, dtype=phi.dtype, device=phi.device)
        grams = (phi.T * counts[:, None, :]) @ phi + factor.ridge * eye  # (b, m, m)
        moments = (sums @ phi).unsqueeze(-1)
        estimates = torch.cholesky_solve(moments, cholesky(grams)).squeeze(-1)
        placed = estimates @ factor.root  # ||a - b||_V is the distance of these
        chosen = int(torch.cdist(placed, placed).median(-1).values.argmin())
        return Estimate(estimates[chosen], factor)


class BlockSums:
    """How many rewards each block has of each site, and their sums; reward i is of block i."""

    def __init__(self, blocks: int) -> None:
        self._told = 0
        self._counts = np.zeros((blocks, 64))
        self._sums = np.zeros((blocks, 64))

    def append(self, site: int, reward: float) -> float:
        while site >= self._counts.shape[1]:
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)], 1)
            self._sums = np.concatenate([self._sums, np.zeros_like(self._sums)], 1)
        block = self._told % len(self._counts)
        self._counts[block, site] += 1.0
        self._sums[block, site] += reward
        self._told += 1
        return reward

    def redrawn(self) -> None:
        """Nothing here depends on the features."""

    def of(self, number: int, sites: int) -> tuple[Tensor, Tensor]:
        """Counts and sums (number, sites) of the first blocks."""
        counts, sums = self._counts[:number, :sites], self._sums[:number, :sites]
        return torch.from_numpy(counts.copy()), torch.from_numpy(sums.copy())

    def state(self) -> dict[str, Tensor]:
        counts, sums = self.of(*self._counts.shape)
        return {"counts": counts, "sums": sums}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self._counts, self._sums = (tensors[name].numpy().copy() for name in ("counts", "sums"))
        self._told = int(self._counts.sum())

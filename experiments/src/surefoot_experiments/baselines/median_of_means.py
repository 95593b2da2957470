"""Coefficients from separate blocks of rewards, and the block that most others are close to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from surefoot.estimators import Constants, Estimate, Sample
from surefoot_experiments.baselines.arguments import count


@dataclass(eq=False)
class BlockSums:
    """Counts and sums of the rewards of each block at each site; reward i is of block i."""

    counts: np.ndarray  # (blocks, S)
    sums: np.ndarray
    number: int = 0


@dataclass(frozen=True)
class MedianOfMeans:
    """Ridge estimates of interleaved blocks of rewards, combined by their generalized median.

    The median is the block whose median distance to the others, in the norm of V, is least. Each
    block solves its own ridge problem: the cost is `blocks` factorizations.

    Args:
        blocks: Number of blocks.

    Raises:
        InvalidInput: If `blocks` is not a positive integer.

    References:
        Hsu and Sabato 2016, Algorithm 2; for linear bandits Shao et al. 2018.

    Example:
        >>> from surefoot_experiments.baselines import MedianOfMeans
        >>> estimator = MedianOfMeans(blocks=9)
    """

    blocks: int = 9

    def __post_init__(self) -> None:
        count("blocks", self.blocks)

    def init(self, constants: Constants) -> BlockSums:
        """The state before the first reward."""
        return BlockSums(np.zeros((self.blocks, 64)), np.zeros((self.blocks, 64)))

    def update(self, state: BlockSums, site: int, reward: float) -> BlockSums:
        """The state after one more reward at a site."""
        state.counts, state.sums = _grown(state.counts, site), _grown(state.sums, site)
        block = state.number % self.blocks
        state.counts[block, site] += 1.0
        state.sums[block, site] += reward
        state.number += 1
        return state

    def estimate(self, state: BlockSums, sample: Sample) -> tuple[Estimate, BlockSums]:
        """The estimate from all rewards, and the next state."""
        factor, phi, units = sample.factor, sample.features, sample.units
        blocks = min(self.blocks, state.number)
        counts, sums = (
            torch.from_numpy(part[:blocks, : len(phi)].copy()).to(phi.device)
            for part in (state.counts, state.sums)
        )
        if not units.is_identity:
            sums = (sums - units.center * counts) / units.scale
        eye = torch.eye(factor.dimension, dtype=phi.dtype, device=phi.device)
        grams = (phi.T * counts[:, None, :]) @ phi + factor.ridge * eye  # (b, m, m)
        moments = (sums @ phi).unsqueeze(-1)
        estimates = torch.cholesky_solve(moments, torch.linalg.cholesky(grams)).squeeze(-1)
        placed = estimates @ factor.root  # ||a - b||_V is the distance of these
        chosen = int(torch.cdist(placed, placed).median(-1).values.argmin())
        return Estimate(estimates[chosen]), state


def _grown(buffer: np.ndarray, site: int) -> np.ndarray:
    """The buffer (blocks, S) with room for a site, at least doubled where it is full."""
    if site < buffer.shape[-1]:
        return buffer
    return np.concatenate([buffer, np.zeros((len(buffer), site))], -1)

"""Truncation by leverage at a threshold that the rewards themselves determine."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.doubling import rounds_logarithm
from surefoot.estimators.estimator import UNWEIGHTED, Constants, Estimate
from surefoot.regression.sample import Sample


@dataclass(frozen=True)
class TuningFreeTruncation:
    r"""Ridge regression without the rewards of :math:`h_\tau |y_\tau| > b_t`.

    :math:`h_\tau = \|V_t^{-1/2} \phi_\tau\|` is the root of the leverage of a pull, and b_t solves

    .. math:: \sum_\tau \min(h_\tau^2 y_\tau^2, b_t^2) = b_t^2 L_t,
        \qquad L_t = \ln\frac{\pi^2 t^2}{3 \delta}

    (t / 2 in place of L_t while that is less), so that fewer than L_t rewards are truncated. No
    moment, horizon or scale is given: b_t is at most a constant times the threshold that the best
    known moment of order 1 + a would give, for every a for which there is one. All rewards are
    decided anew in each round, in time that grows with their number. As in `Truncation`, it is
    about zero.

    Args:
        delta: Probability with which the bounds may fail.

    Raises:
        InvalidInput: If `delta` is not between 0 and 1.

    References:
        The equation: Wang, Zheng, Zhou and Zhou 2021, "A new principle for tuning-free Huber
        regression", and for bandits Genalti et al. 2024, "(epsilon, u)-adaptive regret minimization
        in heavy-tailed bandits", whose Theorem 1 shows that some assumption has to replace the
        moment: see `widths.tuning_free`. In the norm of V: Shao et al. 2018 (TOFU).

    Example:
        >>> import surefoot as sf
        >>> arms, kernel = sf.Arms([[0.0], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.Optimizer(arms, kernel, estimator=sf.estimators.TuningFreeTruncation())
        >>> rewards = [1.0, 0.9, 1.1, 1.0] * 4 + [1e6]
        >>> info = optimizer.tell_all([0] * 17, rewards)
        >>> info.truncated
        1
    """

    delta: float = 0.1

    def __post_init__(self) -> None:
        checks.probability("delta", self.delta)

    def init(self, constants: Constants) -> tuple[()]:
        """The state before the first reward."""
        return ()

    def update(self, state: tuple[()], site: int, reward: float) -> tuple[()]:
        """The state after one more reward at a site."""
        return state

    def estimate(self, state: tuple[()], sample: Sample) -> tuple[Estimate, tuple[()]]:
        """The estimate from all rewards, and the next state."""
        site, rewards = sample.site.cpu().numpy(), sample.rewards.cpu().numpy()
        sizes = self._sizes(sample, site, rewards)
        limit = leverage_threshold(sizes, rounds_logarithm(self.delta, len(rewards)))
        cut = sizes > limit
        kept = np.where(cut, 0.0, rewards)
        sums = torch.from_numpy(np.bincount(site, kept, len(sample.features)))
        theta = sample.factor.solve(sample.moments(sums.to(sample.features)))
        return Estimate(theta, UNWEIGHTED, limit, int(cut.sum()), bool(cut[-1])), state

    def weights(self, estimate: Estimate, sample: Sample) -> Tensor:
        """1 for the rewards that were kept (t,), 0 for the others."""
        sizes = self._sizes(sample, sample.site.cpu().numpy(), sample.rewards.cpu().numpy())
        return torch.from_numpy((sizes <= estimate.threshold).astype(float))

    def _sizes(self, sample: Sample, site: np.ndarray, rewards: np.ndarray) -> np.ndarray:
        """h |y| of each reward (t,)."""
        directions = sample.factor.directions(sample.features.cpu().numpy())  # (m, S)
        return np.sqrt(np.einsum("ms,ms->s", directions, directions))[site] * np.abs(rewards)


def leverage_threshold(sizes: np.ndarray, logarithm: float) -> float:
    """The b of sum_tau min(c_tau^2, b^2) = b^2 L, with t / 2 in place of L while that is less.

    Args:
        sizes: c (t,), t >= 1, at least 0.
        logarithm: L.

    Returns:
        b, 0 if all sizes are 0.

    Example:
        >>> import numpy as np
        >>> leverage_threshold(np.array([3.0, 1.0, 1.0, 1.0]), 2.0)
        1.7320508075688772
    """
    t, scale = len(sizes), float(sizes.max())
    if scale == 0.0:
        return 0.0
    level = min(logarithm, t / 2.0)
    number = min(t, math.ceil(level))  # fewer than `level` sizes are above b
    parted = np.partition(sizes / scale, t - number)
    rest, largest = parted[: t - number], np.sort(parted[t - number :])
    squares = np.square(rest).sum() + np.cumsum(np.square(largest))  # of all but the largest k
    roots = np.sqrt(squares[::-1] / (level - np.arange(number)))
    return scale * float(roots[np.argmax(roots >= largest[::-1])])

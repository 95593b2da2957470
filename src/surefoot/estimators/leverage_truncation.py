"""Truncation by the leverage at which a reward was measured, which is known before it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import torch

from surefoot._internal import checks
from surefoot.estimators.estimator import Constants, Estimate
from surefoot.regression.observations import grown
from surefoot.regression.sample import Sample
from surefoot.tails import Moment
from surefoot.tails.moment import check_raw_moment
from surefoot.widths.phases import Phase


@dataclass(eq=False)
class Leverages:
    """Leverage of each reward in V of the rewards up to it.

    Args:
        version: Version of the features.
        number: Number of rewards.
        roots: h_s (at least t), the square roots of the leverages.
        inverse: V^{-1} (m, m) of these rewards.
    """

    version: int = -1
    number: int = 0
    roots: np.ndarray = field(default_factory=lambda: np.zeros(64))
    inverse: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True)
class LeverageTruncation:
    r"""Ridge regression on rewards :math:`y_s 1\{h_s |y_s| \leq b\}`, with the leverage known.

    :math:`h_s^2 = \phi(x_s)^\top V_s^{-1} \phi(x_s)` is the leverage of the reward among those up
    to it, so that its threshold :math:`b / h_s` is fixed before it comes. b is constant in phases
    j = 0, 1, ..., which last as long as :math:`H_t = \sum_s h_s^{1+a}` is at most 2^j; with each
    all rewards are truncated anew. It is for features that last: `Exact()` on arms, quadrature.

    Args:
        moment: The moment E|y|^(1 + alpha) <= v that is assumed, in reward units.
        delta: Probability with which the bounds of `widths.leverage_truncated` may fail.

    Raises:
        InvalidInput: If an argument is out of range.

    References:
        notes/guarantees.md, Proposition 4.

    Example:
        >>> import surefoot as sf
        >>> estimator = sf.estimators.LeverageTruncation(sf.Moment(alpha=1.0, bound=4.0))
        >>> estimator.threshold(3.5) == estimator.threshold(4.0) < estimator.threshold(4.1)
        True
    """

    moment: Moment
    delta: float = 0.1

    def __post_init__(self) -> None:
        check_raw_moment(self.moment)
        checks.probability("delta", self.delta)

    def threshold(self, spent: float) -> float:
        """b of the phase for a sum H_t of powers of the leverages."""
        return Phase.of(self.moment, self.delta, spent).threshold

    def init(self, constants: Constants) -> Leverages:
        """The state before the first reward."""
        return Leverages()

    def update(self, state: Leverages, site: int, reward: float) -> Leverages:
        """The state after one more reward: leverages are taken where it is estimated."""
        return state

    def estimate(self, state: Leverages, sample: Sample) -> tuple[Estimate, Leverages]:
        """The estimate from all rewards, and the next state."""
        state = _brought_up_to_date(state, sample)
        roots = state.roots[: state.number]
        spent = float((roots ** (1.0 + self.moment.alpha)).sum())
        threshold = self.threshold(spent)
        rewards = sample.rewards
        far = torch.from_numpy(roots).to(rewards) * rewards.abs() > threshold
        theta = sample.factor.solve(sample.moments(sample.totals(rewards.where(~far, 0.0))))
        estimate = Estimate(
            theta,
            threshold=threshold,
            truncated=int(far.sum()),
            last_truncated=bool(far[-1]),
            spent=spent,
        )
        return estimate, state


def _brought_up_to_date(state: Leverages, sample: Sample) -> Leverages:
    """The state with the leverages of all rewards of a sample, in their order."""
    features = sample.features.cpu().numpy()
    if state.version != sample.version:
        inverse = np.eye(features.shape[1]) / sample.factor.ridge
        state = Leverages(sample.version, inverse=inverse)
    for site in sample.site[state.number :].tolist():
        solved = state.inverse @ features[site]
        growth = 1.0 + float(features[site] @ solved)
        state.inverse -= np.outer(solved, solved) / growth
        state.roots = grown(state.roots, state.number)
        state.roots[state.number] = math.sqrt(max(1.0 - 1.0 / growth, 0.0))
        state.number += 1
    return state

"""Weighted sums of rewards whose weights do not depend on them, with a bound on their error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from surefoot._internal import checks
from surefoot.tails import Moment
from surefoot.tails.moment import check_moment

_TRUNCATED = math.sqrt(2.0) + 4.0 / 3.0  # variance, range and bias


class FixedWeights(Protocol):
    """Estimates sums of w_s E[y_s] for weights (n, t) that are known before the rewards (t,)."""

    def __call__(self, weights: Tensor, rewards: Tensor, logarithm: float) -> tuple[Tensor, Tensor]:
        """The estimates (n,), and bounds (n,) on their errors.

        Args:
            weights: Weights (n, t), not all 0 in a row.
            rewards: Rewards (t,).
            logarithm: L, such that each bound fails with probability at most 2 e^(-L).
        """
        ...


@dataclass(frozen=True)
class SubGaussianSum:
    r"""The sum itself, for noise of sub-Gaussian constant R: error :math:`R\|w\|_2\sqrt{2L}`.

    Args:
        noise: Sub-Gaussian constant R of the rewards, standard errors included, in reward units.

    Raises:
        InvalidInput: If it is negative.

    References:
        Vakili et al. 2021, "Optimal order simple regret for Gaussian process bandits", Theorem 1.

    Example:
        >>> import torch
        >>> weights, rewards = torch.tensor([[0.5, 0.5]]), torch.tensor([1.0, 2.0])
        >>> found = SubGaussianSum(noise=1.0)(weights, rewards, logarithm=4.0)
        >>> [round(one.item(), 6) for one in found]
        [1.5, 2.0]
    """

    noise: float

    def __post_init__(self) -> None:
        checks.non_negative("noise", self.noise)

    def __call__(self, weights: Tensor, rewards: Tensor, logarithm: float) -> tuple[Tensor, Tensor]:
        error = self.noise * math.sqrt(2.0 * logarithm) * weights.square().sum(-1).sqrt()
        return weights @ rewards, error


@dataclass(frozen=True)
class TruncatedSum:
    r"""The sum of the terms of size at most b, for rewards with a moment of order 1 + a.

    With :math:`S = v \sum_s |w_s|^{1 + a}`, :math:`b = (S / L)^{1 / (1 + a)}` and the error is at
    most :math:`(\sqrt 2 + 4 / 3)\, b L`.

    Args:
        moment: The moment E|y|^(1 + a) <= v, in reward units.

    Raises:
        InvalidInput: If it is none.

    References:
        notes/guarantees.md, Proposition 7.

    Example:
        >>> import torch
        >>> import surefoot as sf
        >>> weights, rewards = torch.full((1, 8), 0.125), torch.tensor([1.0] * 7 + [1e6])
        >>> mean, error = TruncatedSum(sf.Moment(1.0, 4.0))(weights, rewards, logarithm=4.0)
        >>> mean.item()
        0.875
    """

    moment: Moment

    def __post_init__(self) -> None:
        check_moment(self.moment)

    def __call__(self, weights: Tensor, rewards: Tensor, logarithm: float) -> tuple[Tensor, Tensor]:
        power = 1.0 + self.moment.alpha
        total = self.moment.bound * weights.abs().pow(power).sum(-1)
        threshold = (total / logarithm) ** (1.0 / power)
        terms = weights * rewards
        kept = terms.where(terms.abs() <= threshold.unsqueeze(-1), 0.0)
        return kept.sum(-1), _TRUNCATED * logarithm * threshold

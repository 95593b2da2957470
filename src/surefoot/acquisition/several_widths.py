"""Confidence bounds of several widths in the queries of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from surefoot._internal import checks
from surefoot.beliefs import Belief
from surefoot.beliefs.probability import Score
from surefoot.types import InvalidInput


@dataclass(frozen=True)
class SeveralWidths:
    r"""Upper confidence bounds :math:`\mu + s_k (u - \mu)`, with another share in each query.

    The k-th query of a batch, of which k before it are pending, has share :math:`s_k`, and after
    the last share comes the first: some workers exploit, others explore. A share of 1 is the upper
    confidence bound; for others there is no theorem, unless `Guarded` has this score.

    Args:
        shares: Shares of the distance of the upper bound, at least 0.

    Raises:
        InvalidInput: If there is none, or one is negative.

    References:
        Torossian, Picheny and Durrande 2020, "Bayesian quantile and expectile optimisation"; Nguyen
        et al. 2021, "Value-at-Risk optimization with Gaussian processes", Appendix I.

    Example:
        >>> import surefoot as sf
        >>> arms = sf.Arms([[0.0], [0.3], [0.6], [1.0]])
        >>> kernel = sf.kernels.squared_exponential(0.1)
        >>> policy = sf.acquisition.SeveralWidths((0.0, 1.0))
        >>> optimizer = sf.Optimizer(arms, kernel, policy=policy)
        >>> _ = optimizer.tell(2, 1.0)
        >>> [query.arm == 2 for query in optimizer.ask_batch(2)]
        [True, False]
    """

    shares: Sequence[float] = (0.5, 1.0, 2.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", tuple(self.shares))
        for share in self.shares:
            checks.non_negative("shares", share)
        if not self.shares:
            raise InvalidInput("`shares` is empty, expected numbers such as (0.5, 1.0, 2.0).")

    def __call__(self, belief: Belief, generator: torch.Generator) -> Score:
        share = self.shares[len(belief.pending) % len(self.shares)]
        return lambda x: belief.bound(x, share * belief.width)

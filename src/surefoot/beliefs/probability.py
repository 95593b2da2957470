"""Probabilities of events as functions of model inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

LIKELY = 0.5
"""Probability from which an event is the more likely."""

Score = Callable[[Tensor], Tensor]  # points (n, d) -> (n,), differentiable, larger is better


@dataclass(frozen=True)
class Probability:
    """Probability that independent events all happen, as a function of points.

    Args:
        factors: Probability (n,) of each event at points (n, d); none for an event that is certain.

    Example:
        >>> import torch
        >>> half = Probability((lambda points: torch.full((len(points),), 0.5),))
        >>> (half & half)(torch.zeros(1, 2)).tolist(), (CERTAIN & CERTAIN).is_certain
        ([0.25], True)
    """

    factors: tuple[Score, ...] = ()

    @property
    def is_certain(self) -> bool:
        """Whether the probability is 1 everywhere."""
        return not self.factors

    def __and__(self, other: Probability) -> Probability:
        """Probability that the events of both happen."""
        return Probability((*self.factors, *other.factors))

    def __call__(self, points: Tensor) -> Tensor:
        """Probabilities (n,) at points (n, d)."""
        if len(self.factors) == 1:
            return self.factors[0](points)
        total = torch.ones(len(points), dtype=torch.float64, device=points.device)
        for factor in self.factors:
            total = total * factor(points)
        return total


CERTAIN = Probability()

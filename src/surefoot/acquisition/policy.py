"""What a policy is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from surefoot.regression.posterior import Posterior

Score = Callable[[Tensor], Tensor]  # points (n, d) -> (n,), differentiable, larger is better


@dataclass(frozen=True, eq=False)
class Situation:
    """What a score may depend on; `sites` are the points measured or pending, `round` how many."""

    posterior: Posterior
    width: float
    sites: Tensor  # (S, d)
    generator: torch.Generator
    round: int
    feasible: Score | None = None  # probability that a measurement there does not fail


class Policy(Protocol):
    """Makes the score of one round."""

    def __call__(self, situation: Situation) -> Score: ...

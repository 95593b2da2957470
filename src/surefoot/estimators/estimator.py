"""What an estimator is given and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from surefoot.ridge import RidgeFactor


@dataclass(frozen=True, eq=False)
class Sample:
    """Rewards with the features of the sites that they were measured at.

    `sums` are per-site sums of the rewards, so that what is linear in them never touches the
    rewards one by one.
    """

    features: Tensor  # (S, m), of the sites
    residual: Tensor  # (S,), k(x, x) - ||phi(x)||^2
    counts: Tensor  # (S,)
    sums: Tensor  # (S,)
    site: Tensor  # (t,)
    rewards: Tensor  # (t,)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Coefficients, and the geometry that says how sure they are.

    `factor` is the x-only factor for estimators that a theorem covers; `StudentT` gives the factor
    of the weighted rewards, since a point whose reward was thrown out has taught it nothing.
    `weights` (t,) lie in [0, 1], None where every reward has full weight; `precisions` (t,) are
    what the next estimate may start from; `threshold` is the absolute residual at which a reward
    starts to lose weight; `truncated` (t,) are the rewards with less than half of it.
    """

    coefficients: Tensor  # (m,)
    factor: RidgeFactor
    weights: Tensor | None = None
    precisions: Tensor | None = None
    threshold: float | None = None
    truncated: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.bool))  # (t,)


class Estimator(Protocol):
    """Turns rewards into the coefficients theta of mu(x) = phi(x)'theta."""

    def __call__(
        self, factor: RidgeFactor, sample: Sample, start: Tensor | None = None
    ) -> Estimate:
        """`factor` is V of the sample; `start` are known weights (k,) of the first rewards."""
        ...

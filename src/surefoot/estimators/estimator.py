"""What an estimator is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from surefoot.estimators.log import Log
from surefoot.regression.ridge import RidgeFactor


class Measured(Protocol):
    """Rewards with the features of the sites that they were measured at.

    `sums` are per-site sums of the rewards, so that what is linear in them never touches the
    rewards one by one. Where pulls are tallied, `log` is what the estimator kept of them,
    `moments` are Phi'y with the rewards as the log left them, and `leverage` gives at least that
    of sites (k,) in little time. With `mass`, `rewards` and `site` are values (n,) that each stand
    for so many rewards, the last one still for itself.
    """

    @property
    def features(self) -> Tensor: ...  # (S, m), of the sites
    @property
    def residual(self) -> Tensor: ...  # (S,), k(x, x) - ||phi(x)||^2
    @property
    def counts(self) -> Tensor: ...  # (S,)
    @property
    def sums(self) -> Tensor: ...  # (S,)
    @property
    def number(self) -> int: ...  # t
    @property
    def site(self) -> Tensor: ...  # (t,) or (n,)
    @property
    def rewards(self) -> Tensor: ...  # (t,) or (n,)
    @property
    def moments(self) -> Tensor: ...  # (m,)
    @property
    def mass(self) -> Tensor | None: ...  # (n,)
    @property
    def log(self) -> Log | None: ...
    @property
    def leverage(self) -> Callable[[np.ndarray], np.ndarray] | None: ...


@dataclass(frozen=True, eq=False)
class Sample:
    """Rewards that are all there, or with masses in place of the rest (`Measured`)."""

    features: Tensor  # (S, m)
    residual: Tensor  # (S,)
    counts: Tensor  # (S,)
    sums: Tensor  # (S,)
    site: Tensor  # (t,) or (n,)
    rewards: Tensor  # (t,) or (n,)
    mass: Tensor | None = None  # (n,)
    log: Log | None = None
    leverage: None = None

    @property
    def number(self) -> int:
        """t, the number of rewards."""
        return len(self.rewards) if self.mass is None else round(float(self.mass.sum()))

    @cached_property
    def moments(self) -> Tensor:
        """Phi'y (m,)."""
        return self.features.T @ self.sums


def totals(sample: Measured, values: Tensor) -> Tensor:  # (t,) or (n,) -> (S,)
    """Sum over the rewards of each site of a value given for each."""
    weighed = values if sample.mass is None else sample.mass * values
    return torch.zeros_like(sample.counts).index_add_(0, sample.site, weighed)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Coefficients, and the geometry that says how sure they are.

    `factor` is the x-only factor for estimators that a theorem covers; `StudentT` gives the factor
    of the weighted rewards, since a point whose reward was thrown out has taught it nothing.
    `weights` (t,) lie in [0, 1], None where every reward has full weight or none is kept;
    `precisions` (t,) are what the next estimate may start from; `threshold` is the absolute
    residual at which a reward starts to lose weight; `truncated` counts the rewards that lost more
    than half of theirs, and `last_truncated` tells whether the last one did.
    """

    coefficients: Tensor  # (m,)
    factor: RidgeFactor
    weights: Tensor | None = None
    precisions: Tensor | None = None
    threshold: float | None = None
    truncated: int = 0
    last_truncated: bool = False


class Estimator(Protocol):
    """Turns rewards into the coefficients theta of mu(x) = phi(x)'theta."""

    def __call__(
        self, factor: RidgeFactor, sample: Measured, start: Tensor | None = None
    ) -> Estimate:
        """`factor` is V of the sample; `start` are known weights (k,) of the first rewards."""
        ...

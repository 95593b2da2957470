"""What an estimator is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from torch import Tensor

from surefoot.estimators.live_rewards import LiveRewards
from surefoot.ridge import RidgeFactor


@dataclass(frozen=True, eq=False)
class Sample:
    """Rewards with the features of the sites that they were measured at.

    `sums` are per-site sums of the rewards, so that what is linear in them never touches the
    rewards one by one. The rest is there where pulls are tallied (`Tally`): `known_moments` are
    Phi'y with the rewards as the estimator's `keep` left them, `changed` how many it changed,
    `live` the rewards that a threshold may still cut.
    """

    features: Tensor  # (S, m), of the sites
    residual: Tensor  # (S,), k(x, x) - ||phi(x)||^2
    counts: Tensor  # (S,)
    sums: Tensor  # (S,)
    site: Tensor  # (t,)
    rewards: Tensor  # (t,)
    known_moments: Tensor | None = None  # (m,)
    changed: int = 0
    last_changed: bool = False
    live: LiveRewards | None = None
    leverage: Tensor | None = None  # (S,), at least that of each site

    @cached_property
    def moments(self) -> Tensor:
        """Phi'y (m,)."""
        return self.features.T @ self.sums if self.known_moments is None else self.known_moments


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
        self, factor: RidgeFactor, sample: Sample, start: Tensor | None = None
    ) -> Estimate:
        """`factor` is V of the sample; `start` are known weights (k,) of the first rewards."""
        ...


Keep = Callable[[float, int], float]  # a reward and its round t = 1, 2, ... -> what is kept of it

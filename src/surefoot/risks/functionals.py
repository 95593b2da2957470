"""What a random value is worth: its mean, value at risk, conditional value at risk or worst case.

Each is a monotone function of the values on the environment, lower tail, larger is better, so that
bounds pass through: risk(lower) <= risk(f) <= risk(upper). `lacing` says at which z a measurement
narrows that interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.types import InvalidInput

_TOLERANCE = 1e-12  # of the level: running sums of weights miss it by rounding


class Risk(Protocol):
    """A monotone function of values on the environment, batched over leading dimensions.

    Weights are taken to be probabilities: `FiniteEnvironment` checks them once, where they come in.
    """

    def __call__(self, values: Tensor, weights: Tensor) -> Tensor:
        """Values (..., n) with weights (n,) that sum to 1 -> (...), differentiable.

        Raises `InvalidInput` where they do not go together.
        """
        ...

    def lacing(self, lower: Tensor, upper: Tensor, weights: Tensor) -> Tensor:
        """Which z (..., n) may be measured: none has weight 0, and at least one is true.

        At each of them, upper - lower is at least risk(upper) - risk(lower), which keeps regret
        below twice the width times the deviation there.
        """
        ...


def _fitting(values: Tensor, weights: Tensor) -> Tensor:
    """The values as real numbers, `InvalidInput` where there is not one weight for each."""
    for name, given in (("values", values), ("weights", weights)):
        if not isinstance(given, Tensor):
            raise InvalidInput(f"`{name}` is {given!r}, expected a tensor.")
    if weights.ndim != 1 or values.ndim == 0 or values.shape[-1] != len(weights):
        raise InvalidInput(
            f"`values` {tuple(values.shape)} came with `weights` {tuple(weights.shape)}, expected "
            "(..., n) and (n,)."
        )
    return values if values.is_floating_point() else values.to(weights)


def checked(risk: object) -> Risk:
    """The risk, `InvalidInput` if it is none."""
    if isinstance(risk, type) or not callable(risk) or not hasattr(risk, "lacing"):
        raise InvalidInput(
            f"`risk` is {risk!r}, expected a risk such as `VaR(0.1)`, `CVaR(0.1)`, `Mean()` or "
            "`WorstCase()`."
        )
    return risk


@dataclass(frozen=True)
class Mean:
    """The expectation E[f(x, Z)]."""

    def __call__(self, values: Tensor, weights: Tensor) -> Tensor:
        return (_fitting(values, weights) * weights).sum(-1)

    def lacing(self, lower: Tensor, upper: Tensor, weights: Tensor) -> Tensor:
        """z whose interval is at least as wide as the mean's."""
        apart = upper - lower
        wanted = self(apart, weights).unsqueeze(-1)
        return (apart >= wanted * (1.0 - _TOLERANCE)) & (weights > 0.0)


@dataclass(frozen=True)
class VaR:
    """Value at risk: inf{w : P(f(x, Z) <= w) >= level} (Nguyen et al. 2021, eq. 1)."""

    level: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", checks.probability("level", self.level))

    def __call__(self, values: Tensor, weights: Tensor) -> Tensor:
        ordered, reached = _ordered(_fitting(values, weights), weights)
        return _quantiles(ordered, reached, torch.full_like(ordered[..., :1], self.level))[..., 0]

    def lacing(self, lower: Tensor, upper: Tensor, weights: Tensor) -> Tensor:
        """Lacing values (Nguyen et al. 2021, Definition 1); Theorem 1 says that there is one."""
        low, high = self(lower, weights).unsqueeze(-1), self(upper, weights).unsqueeze(-1)
        return (lower <= low) & (upper >= high) & (weights > 0.0)


@dataclass(frozen=True)
class CVaR:
    """Conditional value at risk: the mean of the lower tail of probability `level`.

    An atom on the boundary of the tail counts with the part of it that lies inside.
    """

    level: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", checks.probability("level", self.level))

    def __call__(self, values: Tensor, weights: Tensor) -> Tensor:
        ordered, reached = _ordered(_fitting(values, weights), weights)
        inside = reached.clamp_max(self.level).diff(
            dim=-1, prepend=torch.zeros_like(reached[..., :1])
        )
        return (ordered * inside).sum(-1) / inside.sum(-1)

    def lacing(self, lower: Tensor, upper: Tensor, weights: Tensor) -> Tensor:
        """Lacing values of that level up to `level` whose value at risk is least certain.

        CVaR is the mean over levels of VaR, so that its interval is no wider than the widest of
        theirs (Nguyen et al. 2021, "Optimizing conditional value-at-risk of black-box functions").
        """
        low, low_reached = _ordered(lower, weights)
        high, high_reached = _ordered(upper, weights)
        most = torch.full_like(low[..., :1], self.level)
        # VaR is a step function of the level. The interval only grows while its lower end stays,
        # so that it is widest at the end of one of the steps of that.
        levels = torch.cat([low_reached, most], -1).clamp_max(self.level)
        low_var, high_var = (
            _quantiles(low, low_reached, levels),
            _quantiles(high, high_reached, levels),
        )
        widest = (high_var - low_var).masked_fill(levels <= 0.0, -torch.inf).argmax(-1, True)
        below = lower <= low_var.gather(-1, widest)
        return below & (upper >= high_var.gather(-1, widest)) & (weights > 0.0)


@dataclass(frozen=True)
class WorstCase:
    """The least value that may come: the limit of VaR at level 0 (Bogunovic et al. 2018)."""

    def __call__(self, values: Tensor, weights: Tensor) -> Tensor:
        return _fitting(values, weights).masked_fill(weights == 0.0, torch.inf).amin(-1)

    def lacing(self, lower: Tensor, upper: Tensor, weights: Tensor) -> Tensor:
        """The minimisers of the lower bound (StableOpt; Nguyen et al. 2021, eq. 5)."""
        return (lower <= self(lower, weights).unsqueeze(-1)) & (weights > 0.0)


def counted_as(levels: Tensor, number: int) -> Tensor:
    """The running probability of so many values that counts as having reached each level."""
    room = max(_TOLERANCE, 2.2e-16 * number)  # of the rounding of as many sums
    return levels - (0.5 * levels).clamp_max(room)


def _ordered(values: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Values (..., n) in order, and the probability (..., n) of each and all before it."""
    ordered, order = values.sort(-1)
    return ordered, weights.expand(values.shape).gather(-1, order).cumsum(-1)


def _quantiles(ordered: Tensor, reached: Tensor, levels: Tensor) -> Tensor:  # (..., k) -> (..., k)
    """The first value at which the running probability reaches each level."""
    wanted = counted_as(levels, ordered.shape[-1])
    index = torch.searchsorted(reached.contiguous(), wanted.contiguous())
    return ordered.gather(-1, index.clamp_max(ordered.shape[-1] - 1))

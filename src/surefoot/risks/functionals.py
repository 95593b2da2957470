"""Risk measures: mean, value at risk, conditional value at risk and worst case.

Each is a monotone function of the values of f(x, Z) over the environment Z. They concern the lower
tail, larger is better, and bounds pass through: risk(lower) <= risk(f) <= risk(upper). `lacing`
selects the environments in which a measurement narrows that interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.numbers import LAST_DIGITS
from surefoot.risks.risk import Risk, checked
from surefoot.types import InvalidInput


def counted_as(levels: Tensor, number: int) -> Tensor:
    """Cumulative probabilities that count as having reached the levels, allowing for rounding.

    Args:
        levels: Levels (...) in (0, 1].
        number: Number of weights in the cumulative sum.

    Returns:
        Slightly smaller levels (...).
    """
    # As much as the rounding of so many sums.
    return levels - (0.5 * levels).clamp_max(max(LAST_DIGITS, 2.2e-16 * number))


def matching(values: Tensor, weights: Tensor) -> Tensor:
    """The values as floats, once their shape matches that of the weights."""
    for name, given in (("values", values), ("weights", weights)):
        if not isinstance(given, Tensor):
            raise InvalidInput(f"`{name}` is {given!r}, expected a tensor.")
    one = weights.ndim == 1 and values.shape[-1:] == weights.shape
    if values.ndim == 0 or not (one or weights.shape == values.shape):
        raise InvalidInput(
            f"`values` {tuple(values.shape)} came with `weights` {tuple(weights.shape)}, expected "
            "(..., n) and (n,), or the same shape."
        )
    return values if values.is_floating_point() else values.to(weights)


def ordered(values: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Sorted values (..., n) and their cumulative probabilities (..., n).

    Args:
        values: Values (..., n).
        weights: Probabilities (n,) or (..., n).

    Raises:
        InvalidInput: If the shapes do not match.
    """
    values, order = matching(values, weights).sort(-1)
    return values, weights.expand(values.shape).gather(-1, order).cumsum(-1)


def quantiles(values: Tensor, cumulative: Tensor, levels: Tensor) -> Tensor:
    """The first value whose cumulative probability reaches each level.

    Args:
        values: Sorted values (..., n).
        cumulative: Their cumulative probabilities (..., n).
        levels: Levels (..., k).

    Returns:
        Quantiles (..., k).
    """
    wanted = counted_as(levels, values.shape[-1])
    index = torch.searchsorted(cumulative.contiguous(), wanted.contiguous())
    return values.gather(-1, index.clamp_max(values.shape[-1] - 1))


@dataclass(frozen=True)
class Mean:
    """Risk-neutral objective, the expectation E[f(x, Z)].

    Example:
        >>> import torch
        >>> Mean()(torch.tensor([0.0, 10.0]), torch.tensor([0.9, 0.1])).item()
        1.0
    """

    def __call__(self, values: Tensor, weights: Tensor) -> Tensor:
        """Weighted mean (...) of values (..., n); see `Risk`."""
        return (matching(values, weights) * weights).sum(-1)

    def lacing(self, lower: Tensor, upper: Tensor, weights: Tensor) -> Tensor:
        """Environments whose interval is at least as wide as that of the mean; see `Risk`."""
        gap = upper - lower
        return (gap >= self(gap, weights).unsqueeze(-1) * (1.0 - LAST_DIGITS)) & (weights > 0.0)


@dataclass(frozen=True)
class VaR:
    """Value at risk, the lower quantile inf{w : P(f(x, Z) <= w) >= level}.

    It is maximised; BoTorch's `VaR(alpha)` is `VaR(1 - alpha)` here, but the next larger value
    where the level is that of a whole number of equally likely ones.

    Args:
        level: Probability of the lower tail, in (0, 1); small is risk-averse.

    Raises:
        InvalidInput: If `level` is not in (0, 1).

    References:
        Nguyen et al. 2021, "Value-at-risk optimization with Gaussian processes", eq. 1.

    Example:
        >>> import torch
        >>> values = torch.tensor([[3.0, 1.0, 2.0, 4.0]])
        >>> VaR(0.5)(values, torch.full((4,), 0.25))
        tensor([2.])
    """

    level: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", checks.probability("level", self.level))

    def __call__(self, values: Tensor, weights: Tensor) -> Tensor:
        """Lower quantile (...) of values (..., n); see `Risk`."""
        values, cumulative = ordered(values, weights)
        return quantiles(values, cumulative, torch.full_like(values[..., :1], self.level))[..., 0]

    def lacing(self, lower: Tensor, upper: Tensor, weights: Tensor) -> Tensor:
        """Lacing values: l <= VaR(l) and u >= VaR(u); see `Risk`.

        References:
            Nguyen et al. 2021, Definition 1; by Theorem 1 at least one exists.
        """
        low, high = self(lower, weights).unsqueeze(-1), self(upper, weights).unsqueeze(-1)
        return (lower <= low) & (upper >= high) & (weights > 0.0)


@dataclass(frozen=True)
class CVaR:
    """Conditional value at risk, the mean of the lower tail of probability `level`.

    An atom at the boundary of the tail counts with the share of its probability that lies inside.
    It is maximised; BoTorch's `CVaR(alpha)` is `CVaR(1 - alpha)` here, but for that atom, which it
    counts whole.

    Args:
        level: Probability of the lower tail, in (0, 1); small is risk-averse.

    Raises:
        InvalidInput: If `level` is not in (0, 1).

    References:
        Rockafellar and Uryasev 2000; Nguyen et al. 2021, "Optimizing conditional value-at-risk of
        black-box functions".

    Example:
        >>> import torch
        >>> values = torch.tensor([3.0, 1.0, 2.0, 4.0])
        >>> CVaR(0.5)(values, torch.full((4,), 0.25)).item()
        1.5
    """

    level: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", checks.probability("level", self.level))

    def __call__(self, values: Tensor, weights: Tensor) -> Tensor:
        """Mean (...) of the lower tail of values (..., n); see `Risk`."""
        values, cumulative = ordered(values, weights)
        inside = cumulative.clamp_max(self.level).diff(
            dim=-1, prepend=torch.zeros_like(cumulative[..., :1])
        )
        return (values * inside).sum(-1) / inside.sum(-1)

    def lacing(self, lower: Tensor, upper: Tensor, weights: Tensor) -> Tensor:
        """Lacing values of VaR at the level up to `level` whose interval is widest; see `Risk`.

        CVaR is the mean of VaR over those levels, so its interval is no wider than the widest.
        """
        low, low_cumulative = ordered(lower, weights)
        high, high_cumulative = ordered(upper, weights)
        last = torch.full_like(low[..., :1], self.level)
        # VaR is a step function of the level. Its interval only grows while the lower end is
        # constant, so it is widest at the end of one of the steps of the lower end.
        levels = torch.cat([low_cumulative, last], -1).clamp_max(self.level)
        low_var = quantiles(low, low_cumulative, levels)
        high_var = quantiles(high, high_cumulative, levels)
        widest = (high_var - low_var).masked_fill(levels <= 0.0, -torch.inf).argmax(-1, True)
        below = lower <= low_var.gather(-1, widest)
        return below & (upper >= high_var.gather(-1, widest)) & (weights > 0.0)


@dataclass(frozen=True)
class WorstCase:
    """Worst case, the minimum over the support of Z: the limit of VaR as its level tends to 0.

    References:
        Bogunovic et al. 2018, "Adversarially robust optimization with Gaussian processes".

    Example:
        >>> import torch
        >>> WorstCase()(torch.tensor([3.0, 1.0, -9.0]), torch.tensor([0.5, 0.5, 0.0])).item()
        1.0
    """

    support_only: ClassVar[bool] = True

    def __call__(self, values: Tensor, weights: Tensor) -> Tensor:
        """Smallest value (...) of positive weight among values (..., n); see `Risk`."""
        return matching(values, weights).masked_fill(weights == 0.0, torch.inf).amin(-1)

    def lacing(self, lower: Tensor, upper: Tensor, weights: Tensor) -> Tensor:
        """Minimisers of the lower bound, as in StableOpt; see `Risk`.

        References:
            Nguyen et al. 2021, "Value-at-risk optimization with Gaussian processes", eq. 5.
        """
        return (lower <= self(lower, weights).unsqueeze(-1)) & (weights > 0.0)


def on_space(space: Any, risk: object) -> Risk:
    """The risk to maximise, `Mean()` on a space without an environment.

    Raises:
        InvalidInput: If there is an environment and no risk, or the reverse.
    """
    if space.has_environment:
        if risk is None:
            raise InvalidInput(
                "a `Joint` space requires a `risk`: pass one, such as `risk=VaR(0.1)`, "
                "`CVaR(0.1)`, `Mean()` or `WorstCase()`, or use `algorithms.v_ucb`, `cvar_ucb`, "
                "`cvar_ts` or `stable_opt`."
            )
        return checked(risk)
    if risk is not None:
        raise InvalidInput(
            f"`risk` is {risk!r}, but the space has no environment: pass "
            "`Joint(design, environment)`."
        )
    return Mean()

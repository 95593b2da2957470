"""The moment of the rewards that heavy-tailed algorithms assume."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from surefoot._internal import checks
from surefoot.tails.exceedances import checked_sample, tail_index
from surefoot.types import InvalidInput

LEAST_ALPHA = 0.1
_BLOCKS, _CORRECTION = 9, 1.5  # of the median of means


@dataclass(frozen=True)
class Moment:
    """Moment assumption on the rewards, E|y - c|^(1 + alpha) <= bound.

    It must hold at every point, given the past (E[|y_t - c|^(1 + alpha) | F_{t-1}] <= bound). The
    raw moment, about zero, is dominated by the offset for rewards far from zero: centre them first,
    or bound the moment about the mean.

    Args:
        alpha: Order of the moment less 1, in (0, 1]; 1 means a finite variance.
        bound: Bound v on the moment, in reward units to the power 1 + alpha; above 0.
        center: The c of the moment: "zero", or "mean", the function at the point. Truncation needs
            the first.

    Raises:
        InvalidInput: If an argument is out of range.

    References:
        Bubeck, Cesa-Bianchi and Lugosi 2013, "Bandits with heavy tail".

    Example:
        >>> Moment(alpha=0.5, bound=4.0)
        Moment(alpha=0.5, bound=4.0, center='zero')
    """

    alpha: float
    bound: float
    center: Literal["zero", "mean"] = "zero"

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("bound", self.bound)):
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise InvalidInput(f"`{name}` is {checks.shown(value)}, expected a number.")
        if not 0 < self.alpha <= 1:
            raise InvalidInput(
                f"`alpha` is {checks.shown(self.alpha)}, expected a number above 0 and at most 1: "
                "the moment of order 1 + alpha is assumed, so 1 means a finite variance."
            )
        if not (0 < self.bound <= sys.float_info.max):
            raise InvalidInput(
                f"`bound` is {checks.shown(self.bound)}, expected a finite number above 0 that "
                "E|y - c|^(1 + alpha) does not exceed."
            )
        checks.choice("center", self.center, "zero", "mean")

    @property
    def statement(self) -> str:
        """The assumption as a formula."""
        about = "y" if self.center == "zero" else "y - f(x)"
        return f"E|{about}|^{1.0 + self.alpha:g} is at most {self.bound:g} at every x"

    @classmethod
    def estimate(cls, y: ArrayLike) -> Moment:
        """Estimate a moment from a sample; there is no guarantee that it holds.

        `alpha` is the tail index less one standard error, minus 1, clipped to [0.1, 1]: moments
        exist up to the tail index. `bound` is 1.5 times the median of the means of
        |y|^(1 + alpha) over 9 interleaved blocks, which is robust to a few outliers. The factor
        corrects the bias of the median for skewed values, which is between 0 (normal) and a third
        (Student's t with 2 degrees of freedom).

        Args:
            y: Values (n,), n >= 20, in reward units.

        Returns:
            The estimated moment.

        Raises:
            InvalidInput: For fewer than 20 values, constant or non-finite ones.

        References:
            Bubeck, Cesa-Bianchi and Lugosi 2013, Lemma 2, for the median of means.
        """
        values = checked_sample(y)
        alpha = float(np.clip(tail_index(values).cautious - 1, LEAST_ALPHA, 1))
        powers = np.abs(values) ** (1 + alpha)
        blocks = min(_BLOCKS, len(values) // 4)
        middle = float(np.median([powers[start::blocks].mean() for start in range(blocks)]))
        return cls(alpha, _CORRECTION * (middle if middle > 0 else float(powers.mean())))


def check_moment(value: object) -> None:
    """`InvalidInput` unless a value is a `Moment`."""
    if not isinstance(value, Moment):
        raise InvalidInput(
            f"`moment` is {checks.shown(value)}, expected `Moment(alpha, bound)` or "
            "`Moment.estimate(rewards)`."
        )


def check_raw_moment(value: object) -> None:
    """`InvalidInput` unless a value is a `Moment` about zero."""
    check_moment(value)
    if value.center != "zero":  # type: ignore[attr-defined]
        raise InvalidInput(
            f"`moment` is {value!r}, expected one about zero, by which rewards are truncated: pass "
            '`center="zero"`, or `widths.self_normalised` with least squares.'
        )

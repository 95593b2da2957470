"""The values that pass between a user and an optimiser, and the library's errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


class SurefootError(Exception):
    """Root of every error that surefoot raises on purpose."""


class InvalidInput(SurefootError, ValueError):
    """A value that cannot be used; the message says what came, what was expected, what to do."""


class NotReady(SurefootError, RuntimeError):
    """A call that needs measurements, made before there are any."""


class NumericalError(SurefootError, ArithmeticError):
    """A computation that cannot be carried out in float64."""


@dataclass(frozen=True, eq=False)
class Query:
    """One request for a measurement; hand it back to ``tell`` with the reward.

    Args:
        id: Number of the query, counted by the optimizer that made it.
        point: Where to measure, (d,), in the units of the space; the design on a `Joint` space.
        arm: Index of the point on `Arms`, None on a `Box`.
        repeats: How many rewards are expected.
        environment: The z (dz,) to measure under on a `Joint` space, None where z is observed.
        owner: Token of the optimizer that made the query. To any other, the query is no more than
            the point that it names.
    """

    id: int
    point: Tensor
    arm: int | None = None
    repeats: int = 1
    environment: Tensor | None = None
    owner: str = field(default="", repr=False)


@dataclass(frozen=True)
class Info:
    """What one `tell` did; diagnostics only, nothing here is needed to go on.

    `width` is the multiplier of the standard deviation in the next bounds. `threshold` is the
    residual (in reward units) beyond which a reward loses weight, None for least squares.
    `truncated` and `truncated_total` count rewards that the last estimate truncated, or gave less
    than half their weight: whether the reward just told is one, and how many are in all.
    `information_gain` is half the log determinant of I + K/ridge.
    """

    round: int
    width: float
    threshold: float | None
    truncated: int
    truncated_total: int
    dimension: int
    information_gain: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Recommendation:
    """The point that the model holds best, its value and an interval for it, in reward units.

    On a `Joint` space the point is a design, and the value its risk.
    """

    point: Tensor
    arm: int | None
    value: float
    lower: float
    upper: float

"""Parameters of a search space: numbers and choices."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from surefoot._internal import checks
from surefoot._internal.numbers import ROUNDING, TINY
from surefoot.parameters.decimal_grid import value_on_grid
from surefoot.types import InvalidInput

TOO_FINE = (
    "expected steps that float64 can tell apart between `low` and `high`: narrow the range, "
    "subtract an offset, or declare a float"
)
MOST_VALUES = 4096  # apart from one another: each is a coordinate of the model


class InvalidParameter(InvalidInput):
    """A parameter that cannot be used.

    Args:
        name: The parameter, empty where it is not known yet.
        field: Its field to correct.
        message: The reason.
    """

    def __init__(self, name: str, field: str, message: str) -> None:
        super().__init__(f"`{field}`{f' of {name!r}' if name else ''}: {message}")
        self.name, self.field, self.message = name, field, message


class InvalidConstraint(InvalidInput):
    """A constraint between parameters that cannot be used, or several that exclude each other.

    Args:
        indices: Positions of the constraints among all of them.
        message: The reason.
        argument: Name of the argument that has the constraints.
    """

    def __init__(self, indices: Sequence[int], message: str, argument: str = "constraints") -> None:
        super().__init__(f"`{argument}`: {message}")
        self.indices, self.message = tuple(indices), message


@dataclass(frozen=True)
class Float:
    """Real number from `low` to `high`.

    Args:
        low: Lowest value.
        high: Highest value, above `low`.
        log: Whether the number is searched on a logarithmic scale; requires `low` above 0.
        step: Distance between two neighbouring values, which starts at `low`; None if the number
            is continuous.
        special: Values apart from the scale, such as 0 for "off" or -1 for "automatic": the model
            learns nothing of them from the values on the scale.
        when: Condition on other parameters under which this one is active, such as
            `"journal == 'WAL' and threads > 1"`; empty if it always is.

    Raises:
        InvalidInput: If the arguments are out of range, or do not go together.

    Example:
        >>> from surefoot.parameters import Float
        >>> Float(0.5, 2.0, step=0.5).contains(1.5)
        True
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None
    special: Sequence[float] = ()
    when: str = ""

    def __post_init__(self) -> None:
        for field in ("low", "high"):
            object.__setattr__(self, field, checks.finite(field, getattr(self, field)))
        if self.step is not None:
            object.__setattr__(self, "step", checks.positive("step", self.step))
        _check_range(self)
        object.__setattr__(self, "special", special_values(self.special))

    @property
    def scale(self) -> Float:
        """The number itself: special values are apart from its scale, also where they are in it."""
        return self

    @property
    def levels(self) -> int:
        """Number of values on the scale, 0 if they are infinitely many."""
        return 0 if self.step is None else self.index(self.high) + 1

    def index(self, value: float) -> int:
        """Number of steps from the lowest value to the nearest on the grid."""
        return round((value - self.low) / (self.step or 1.0))

    def nth(self, index: int) -> float:
        """Value so many steps above the lowest."""
        return min(max(value_on_grid(self.low, self.step or 1.0, index), self.low), self.high)

    def cast(self, value: float) -> float:
        """A number as a value of this type."""
        return float(value)

    def contains(self, value: object) -> bool:
        """Whether something is a value, on the scale or special."""
        return (is_number(value) and value in self.special) or contains(self, value)

    def describe(self) -> str:
        """The values in words."""
        return described(self, whole=False)


@dataclass(frozen=True)
class Int:
    """Whole number from `low` to `high`.

    Args:
        low: Lowest value.
        high: Highest value, above `low`.
        log: Whether the number is searched on a logarithmic scale; requires `low` of at least 1.
        step: Distance between two neighbouring values, which starts at `low`.
        special: Whole numbers apart from the scale, such as -1 for "automatic".
        when: Condition on other parameters under which this one is active; empty if it always is.

    Raises:
        InvalidInput: If the arguments are out of range, or do not go together.

    Example:
        >>> from surefoot.parameters import Int
        >>> Int(1, 64, log=True, special=[0]).contains(0)
        True
    """

    low: int
    high: int
    log: bool = False
    step: int = 1
    special: Sequence[int] = ()
    when: str = ""

    def __post_init__(self) -> None:
        for field in ("low", "high"):
            value = checks.integer(getattr(self, field))
            if value is None:
                got = checks.shown(getattr(self, field))
                raise InvalidInput(f"`{field}` is {got}, expected a whole number: use `Float`.")
            object.__setattr__(self, field, value)
        checks.count("step", self.step)
        _check_range(self)
        object.__setattr__(self, "special", special_values(self.special, whole=True))
        low, high = self._ends
        if low >= high:
            raise InvalidParameter(
                "", "special", "has one value on its scale, expected 2 or more: leave it out"
            )

    @property
    def levels(self) -> int:
        """Number of values on the scale."""
        return self.index(self.high) + 1

    @property
    def scale(self) -> Int:
        """The number without special values at the ends of its scale."""
        low, high = self._ends
        return self if (low, high) == (self.low, self.high) else replace(self, low=low, high=high)

    @property
    def _ends(self) -> tuple[int, int]:
        low, high = self.low, self.high
        while low in self.special and low < high:
            low += self.step
        while high in self.special and low < high:
            high -= self.step
        return low, high

    def index(self, value: float) -> int:
        """Number of steps from the lowest value to the nearest on the grid."""
        return round((value - self.low) / self.step)

    def nth(self, index: int) -> int:
        """Value so many steps above the lowest."""
        return self.low + index * self.step

    def cast(self, value: float) -> int:
        """A number as a value of this type."""
        return int(value)

    def contains(self, value: object) -> bool:
        """Whether something is a value, on the scale or special."""
        return (is_number(value) and value in self.special) or contains(self, value)

    def describe(self) -> str:
        """The values in words."""
        return described(self, whole=True)


@dataclass(frozen=True)
class Choice:
    """One of several values.

    Args:
        choices: The values: different texts, numbers, truth values or None; True is not different
            from 1.
        ordered: Whether they are numbers in increasing order, such as powers of two: neighbours
            are alike, at whatever distance.
        when: Condition on other parameters under which this one is active; empty if it always is.

    Raises:
        InvalidInput: If there are fewer than two choices, or two are the same, or ordered ones do
            not increase.

    Example:
        >>> from surefoot.parameters import Choice
        >>> Choice([1, 2, 4, 8], ordered=True).contains(4)
        True
    """

    choices: Sequence[Any]
    ordered: bool = False
    when: str = ""

    def __post_init__(self) -> None:
        several = hasattr(self.choices, "__len__") and not isinstance(self.choices, str)
        if not several or len(self.choices) < 2:
            raise InvalidParameter(
                "", "choices", f"got {checks.shown(self.choices)}, expected a list of 2 or more"
            )
        _check_number("choices", self.choices)
        object.__setattr__(self, "choices", tuple(self.choices))
        checks.truth("ordered", self.ordered)
        for number, one in enumerate(self.choices):
            alike = one, int(one) if isinstance(one, bool) else one
            if others := [n for v in alike if (n := self.index(v)) not in (None, number)]:
                before = checks.shown(self.choices[others[0]])
                raise InvalidParameter(
                    "",
                    "choices",
                    f"got {before} and {checks.shown(one)}, which are equal, expected different "
                    "ones",
                )
        if self.ordered and (
            not all(map(is_number, self.choices)) or any(b <= a for a, b in pairwise(self.choices))
        ):
            raise InvalidParameter(
                "",
                "ordered",
                f"got the choices {checks.shown(list(self.choices))}, expected increasing numbers",
            )

    @property
    def special(self) -> tuple[()]:
        """Special values: none, since every choice is apart from the others."""
        return ()

    @property
    def numeric(self) -> bool:
        """Whether all choices are numbers."""
        return all(map(is_number, self.choices))

    def index(self, value: object) -> int | None:
        """Number of the choice that a value is, None if it is none."""
        try:
            return self._numbers.get(_identity(value))
        except TypeError:  # of a value that has no hash
            same = (n for n, choice in enumerate(self.choices) if is_same(value, choice))
            return next(same, None)

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        """Number of each choice, of several that are the same the first."""
        numbers: dict[Any, int] = {}
        for number, choice in enumerate(self.choices):
            numbers.setdefault(_identity(choice), number)
        return numbers

    def contains(self, value: object) -> bool:
        """Whether something is one of the choices."""
        return self.index(value) is not None

    def describe(self) -> str:
        """The choices in words."""
        return "one of " + ", ".join(map(repr, self.choices))


Number: TypeAlias = Float | Int
Parameter: TypeAlias = Float | Int | Choice


def apart(name: str, index: int) -> str:
    """The name in a space of one of several parameters of the same name in configurations.

    Each of them is active under a condition of its own, as a number with another range under each
    choice of a category.
    """
    return f"{name}\0{index}"


def shared_name(name: str) -> str:
    """The name in configurations of a parameter; see `apart`."""
    return name.partition("\0")[0]


def is_number(value: object) -> bool:
    """Whether a value is a real number: truth values are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_same(value: Any, choice: Any) -> bool:
    """Whether a value is a choice; true and 1 differ, 1 and 1.0 do not."""
    if is_number(value) and is_number(choice):
        return value == choice or (value != value and choice != choice)
    if isinstance(value, str) and isinstance(choice, str):
        return value == choice
    return type(value) is type(choice) and value == choice


def _identity(value: Any) -> tuple[Any, Any]:
    """Key that is equal for two values if and only if they are the same, as `is_same` says."""
    if is_number(value):
        return Real, value if value == value else "NaN"
    kind = str if isinstance(value, str) else bool if isinstance(value, np.bool_) else type(value)
    return kind, value


def special_values(values: object, whole: bool = False) -> tuple[Any, ...]:
    """Different finite numbers, or whole ones; `InvalidParameter` for anything else."""
    kinds: tuple[type, ...] = (int,) if whole else (int, float)
    if (
        not isinstance(values, Sequence)
        or isinstance(values, str)
        or not all(isinstance(v, kinds) and not isinstance(v, bool) for v in values)
        or not all(abs(v) <= checks.LARGEST and math.isfinite(v) for v in values)
        or len(set(values)) < len(values)
    ):
        wanted = f"a list of different {'whole' if whole else 'finite'} numbers"
        raise InvalidParameter("", "special", f"got {checks.shown(values)}, expected {wanted}")
    _check_number("special", values)
    return tuple(values)


def _check_number(field: str, values: Sequence[Any]) -> None:
    """Raise `InvalidParameter` for more values than a search compares with one another."""
    if len(values) > MOST_VALUES:
        raise InvalidParameter(
            "",
            field,
            f"got {len(values):,} values, expected at most {MOST_VALUES:,}: number them, and pass "
            "the numbers as a range",
        )


def _check_range(number: Number) -> None:
    """Raise `InvalidInput` for a range of no width, or one that float64 does not resolve."""
    low, high = number.low, number.high
    checks.truth("log", number.log)
    if low >= high:
        raise InvalidParameter(
            "", "low", f"got {low!r}, expected less than `high` = {high!r}: leave out a constant"
        )
    if number.log and low <= 0:
        raise InvalidParameter("", "low", f"got {low!r}, expected more than 0, since `log` is true")
    if not math.isfinite(float(high) - float(low)):
        raise InvalidParameter(
            "",
            "high",
            f"low = {low:g} is too far from high = {high:g} for float64, expected "
            "high - low below 1.8e308: narrow the range",
        )
    ends = [math.log(end) if number.log else float(end) for end in (low, high)]
    if ends[0] == ends[1] or high - low < TINY:
        raise InvalidParameter(
            "",
            "high",
            f"{'the logarithms of ' if number.log else ''}low = {low!r} and high = {high!r} are "
            "the same in float64, expected a wider range: subtract an offset in the objective "
            "function",
        )
    if number.log and number.step not in (None, 1):
        raise InvalidParameter("", "step", "given together with `log`, expected one of the two")
    step = math.inf if number.step is None else float(number.step)
    if step < max(
        sys.float_info.epsilon * (float(high) - float(low)),
        math.ulp(math.nextafter(max(abs(low), abs(high)), 0.0)),
    ):
        raise InvalidParameter("", "step", f"got {number.step!r}, {TOO_FINE}")
    if not is_on_grid(high, low, number.step):
        raise InvalidParameter(
            "",
            "step",
            f"got {number.step!r}, expected one that divides high - low = {high - low:g}",
        )


def contains(number: Any, value: Any) -> bool:
    """Whether a value is on the scale of a number: a `Float` or `Int`, or a distribution of them.

    Args:
        number: What has `low`, `high` and `step`.
        value: The value.
    """
    if not is_number(value) or not number.low <= value <= number.high:  # nor is NaN
        return False
    return is_on_grid(value, number.low, number.step)


def is_on_grid(value: float, low: float, step: float | None) -> bool:
    """Whether a value is a whole number of steps above `low`; true without a step."""
    steps = 0.0 if step is None else (value - low) / step
    return abs(steps - round(steps)) <= ROUNDING * max(1.0, abs(steps))


def described(number: Any, whole: bool) -> str:
    """The values of a number in words: a `Float` or `Int`, or anything with their fields."""
    unsaid = (None, 1) if whole else (None,)
    steps = "" if number.step in unsaid else f" in steps of {number.step:g}"
    special = "".join(f", or {value:g}" for value in number.special)
    kind = "whole number" if whole else "number"
    return f"a {kind} from {number.low:g} to {number.high:g}{steps}{special}"

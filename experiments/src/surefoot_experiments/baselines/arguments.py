"""Checks of the arguments of baselines."""

from __future__ import annotations

from surefoot.types import InvalidInput


def count(name: str, value: int, least: int = 1) -> int:
    """The value; `InvalidInput` unless it is an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(f"`{name}` is {value!r}, expected an integer of at least {least}.")
    return value


def positive(name: str, value: float) -> float:
    """The value; `InvalidInput` unless it is a number above 0."""
    number = not isinstance(value, bool) and isinstance(value, int | float)
    if not number or not 0.0 < value < float("inf"):
        raise InvalidInput(f"`{name}` is {value!r}, expected a finite number above 0.")
    return float(value)


def probability(name: str, value: float) -> float:
    """The value; `InvalidInput` unless it is a number between 0 and 1, and neither of them."""
    number = not isinstance(value, bool) and isinstance(value, int | float)
    if not number or not 0.0 < value < 1.0:
        raise InvalidInput(f"`{name}` is {value!r}, expected a number between 0 and 1.")
    return float(value)

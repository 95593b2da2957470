"""The values of constraints that an objective reports beside its measurement."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# What may follow a value: a unit and a standard error, which is not that of the measurement.
_PLUS_MINUS = re.compile(r"±|\+/?-")
_ERROR = r"(?:[^\S\n]*+(?:[^\W\d_]++[^\S\n]++)?(?:±|\+/?-)[^\S\n]*+\S++)?"


@dataclass(frozen=True)
class ObservedConstraints:
    """Values of constraints, or why there is none of one of them.

    Args:
        values: Finite values by name; empty if one is missing.
        reason: Why one is missing, in a line; empty if none is.
        blameless: Whether that says nothing about the configuration.
    """

    values: Mapping[str, float]
    reason: str = ""
    blameless: bool = False


def split_constraints(text: str, names: Sequence[str]) -> tuple[dict[str, str], str]:
    """The last `name=number` of each constraint, and the text without all of them.

    Args:
        text: Output of the objective.
        names: Names of the constraints.

    Returns:
        The text after each name, up to the next space, and the rest of the text.
    """
    found = {}
    for name in names:
        pattern = re.compile(rf"(?<![\w.-]){re.escape(name)}[^\S\n]*+=[^\S\n]*+(\S*+){_ERROR}")
        if given := pattern.findall(text):
            found[name] = given[-1]
        text = pattern.sub(" ", text)
    return found, text


def check_constraints(
    names: Sequence[str], given: Mapping[str, Any], missing: str
) -> ObservedConstraints:
    """The reported values as numbers, or why they are invalid.

    An infinite value fails the configuration. A missing one, or NaN, is not its fault.

    Args:
        names: Names of the constraints.
        given: Reported values, by name.
        missing: The reason where there is nothing, with `{0}` in place of the name.
    """
    values = {}
    for name in names:
        if name not in given:
            return ObservedConstraints({}, missing.format(name), blameless=True)
        value = _number(given[name])
        if value is None or not math.isfinite(value):
            blameless = value is None or math.isnan(value)
            reason = f"the constraint {name} {_shown(given[name], value)}, expected a finite number"
            return ObservedConstraints({}, reason, blameless)
        values[name] = value
    return ObservedConstraints(values)


def _shown(given: Any, value: float | None) -> str:
    """The given value: a number, a text in quotes, or nothing."""
    if value is not None:
        return f"is {given!s:.100}"
    return f"is {given!r:.100}" if given != "" else "has no value"


def _number(given: Any) -> float | None:
    """A number, which a unit or a standard error may follow (`18.3ms`, `18.3+-0.4`)."""
    if isinstance(given, str):
        given = _PLUS_MINUS.split(given, maxsplit=1)[0]
        given = re.sub(r"(?<=[\d.])(?!e[-+\d])[^\W\d_]++$|[,;]$", "", given, flags=re.IGNORECASE)
    try:
        return float(given)
    except (TypeError, ValueError, OverflowError):
        return None

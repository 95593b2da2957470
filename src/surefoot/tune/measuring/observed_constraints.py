"""The values of constraints and objectives that are reported beside a measurement."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from surefoot.tune.definition.value_name import ValueName
from surefoot.tune.measuring.printed_value import Unclear, json_document, keyed, named_value
from surefoot.tune.measuring.quantity import Quantity


@dataclass(frozen=True)
class ObservedConstraints:
    """Values of constraints, or why there is none of one of them.

    Args:
        values: Finite values by name; empty if one is missing.
        reason: Why one is missing, in a line; empty if none is.
        blameless: Whether that says nothing about the configuration.
        units: Their printed units by name.
        unclear: Whether numbers came, and the study file does not say which is the constraint.
        sems: Standard errors by name, of those that were printed with one.
    """

    values: Mapping[str, float]
    reason: str = ""
    blameless: bool = False
    units: Mapping[str, str] = field(default_factory=dict)
    unclear: bool = False
    sems: Mapping[str, float] = field(default_factory=dict)


def printed_constraints(
    text: str,
    names: Mapping[str, ValueName | None],
    named: bool,
    objectives: Sequence[str] = (),
) -> tuple[dict[str, Quantity | Unclear], str]:
    """The last number of each constraint, and the text without all of them.

    Args:
        text: Output of the objective, as `plain` text.
        names: What the study file says stands before each constraint; None for its own name, with
            `=` or `:` behind it unless the measurement has a name.
        named: Whether the measurement has a name, so that it cannot be what stands alone behind
            the name of a constraint.
        objectives: The names that are of objectives.

    Returns:
        The numbers, or why they are unclear, of those that are there; and the rest of the text.
    """
    found: dict[str, Quantity | Unclear] = {}
    document = json_document(text)
    rest = text
    for name, given in names.items():
        key = f"{'objectives' if name in objectives else 'constraints'}.{name}.value"
        if given is not None:
            value = named_value(text, given, key)
        elif isinstance(document, dict) and name in document:
            value = named_value(text, ValueName(name), key)
        else:
            value, rest = _assigned(rest, name, named)
            value = value or _beside(text, name, named, key)
        if value is not None:
            found[name] = value
    return found, rest


def check_constraints(
    names: Iterable[str], given: Mapping[str, Any], missing: str, objectives: Sequence[str] = ()
) -> ObservedConstraints:
    """The reported values as numbers, or why they are invalid.

    An infinite value fails the configuration. A missing one, or NaN, is not its fault.

    Args:
        names: Names of the constraints.
        given: Reported values, by name: numbers, or what was printed.
        missing: The reason where there is nothing, with `{0}` in place of the name.
        objectives: The names that are of objectives.
    """
    values, units = {}, {}
    sems: dict[str, float] = {}
    for name in names:
        what = f"the {'objective' if name in objectives else 'constraint'} {name}"
        one = given.get(name)
        if one is None:
            return ObservedConstraints({}, missing.format(name), blameless=True)
        if isinstance(one, Unclear):
            reason = f"{what}: {one.reason}"
            return ObservedConstraints({}, reason, blameless=True, unclear=True)
        if isinstance(one, Quantity):
            units[name] = one.unit
            if not 0.0 <= one.sem < math.inf:
                reason = (
                    f"the standard error of {what} is {one.sem:g}, expected a finite number of at "
                    "least 0"
                )
                return ObservedConstraints({}, reason, blameless=True)
            sems |= {name: one.sem} if one.sem else {}
        value = one.value if isinstance(one, Quantity) else float(one)
        if not math.isfinite(value):
            reason = f"{what} is {value:g}, expected a finite number"
            return ObservedConstraints({}, reason, blameless=math.isnan(value))
        values[name] = value
    return ObservedConstraints(values, units=units, sems=sems)


def _beside(text: str, name: str, named: bool, key: str) -> Quantity | Unclear | None:
    """The number behind a name without `=` and `:`, which may be the measurement without a name."""
    numbers = [one.number for one in keyed(text, name) if isinstance(one.number, Quantity)]
    if not numbers:
        return None
    if named:
        return named_value(text, ValueName(name), key)
    return Unclear(
        f"`{name} {numbers[-1].text}` has no `=`, so that it may be the measurement; expected "
        f"`{name}={numbers[-1].text}`, or `value` in [objective]"
    )


def _assigned(text: str, name: str, named: bool) -> tuple[Quantity | Unclear | None, str]:
    """The last number behind `name=` or `name:`, and the text without all of them."""
    there = [one for one in keyed(text, name) if one.assigned]
    rest, position = [], 0
    for one in there:
        rest += [text[position : one.start], " "]
        position = one.end
    text = "".join([*rest, text[position:]])
    if not there:
        return None, text
    last = there[-1]
    if last.number is None:
        return Unclear(f"nothing behind `{name}{last.between}`, expected `{name}=NUMBER`"), text
    if not named and last.between == "= " and isinstance(last.number, Quantity):
        printed = last.number.text
        return Unclear(
            f"`{name}= {printed}` may be a number of {name}, or {name} without one before the "
            f"measurement; expected `{name}={printed}`, or `value` in [objective]"
        ), text
    return last.number, text

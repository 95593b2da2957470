"""The values of constraints and objectives that are reported beside a measurement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from surefoot.tune.definition.section import ValueName
from surefoot.tune.measuring.json_output import Output
from surefoot.tune.measuring.measurement import valid
from surefoot.tune.measuring.printed_value import keyed, named_value
from surefoot.tune.measuring.quantity import Missing, Quantity, unclear


def printed_constraints(
    output: Output,
    names: Mapping[str, ValueName | None],
    named: bool,
    objectives: Sequence[str] = (),
) -> tuple[dict[str, Quantity | Missing], Output]:
    """The last number of each constraint, and the output with spaces in place of all of them.

    Args:
        output: Output of the objective.
        names: What the study file says stands before each constraint; None for its own name, with
            `=` or `:` behind it unless the measurement has a name.
        named: Whether the measurement has a name, so that it cannot be what stands alone behind
            the name of a constraint.
        objectives: The names that are of objectives.

    Returns:
        The numbers, or why they are unclear, of those that are there; and the rest of the output.
    """
    found: dict[str, Quantity | Missing] = {}
    for name, given in names.items():
        key = f"{'objectives' if name in objectives else 'constraints'}.{name}.value"
        whole, name_in_file = output, given or ValueName(name)
        assigned = None
        if given is None:
            assigned, text = _assigned(output.text, name, named)
            output = replace(output, text=text)
        if given is not None or any(one.find(name) for one in output.documents):
            value = named_value(whole, name_in_file, key)
        else:
            value = assigned or _beside(output, name, named, key)
            if value is None and output.documents:
                value = named_value(output, name_in_file, key)  # says which names there are
        if value is not None:
            found[name] = value
    return found, output


def check_constraints(
    names: Iterable[str],
    given: Mapping[str, Quantity | Missing],
    missing: str,
    objectives: Sequence[str] = (),
) -> dict[str, Quantity] | Missing:
    """The reported values, or why one of them is invalid.

    An infinite value fails the configuration. A missing one, or NaN, is not its fault.

    Args:
        names: Names of the constraints.
        given: Reported values by name.
        missing: The reason where there is nothing, with `{0}` in place of the name.
        objectives: The names that are of objectives.
    """
    found: dict[str, Quantity] = {}
    for name in names:
        if name not in given:
            return Missing(missing.format(name), blameless=True)
        what = f"the {'objective' if name in objectives else 'constraint'} {name}"
        one = valid(given[name], what, blameless=True)
        if isinstance(one, Missing):
            return one
        found[name] = one
    return found


def _beside(output: Output, name: str, named: bool, key: str) -> Quantity | Missing | None:
    """The number behind a name without `=` and `:`, which may be the measurement without a name."""
    numbers = (one.number for one in keyed(output.text, name))
    last = next((one for one in numbers if isinstance(one, Quantity)), None)
    if last is None:
        return None
    if named:
        return named_value(output, ValueName(name), key)
    return unclear(
        f"`{name} {last.text}` has no `=`, so that it may be the measurement; expected "
        f"`{name}={last.text}`, or `value` in [objective]"
    )


def _assigned(text: str, name: str, named: bool) -> tuple[Quantity | Missing | None, str]:
    """The last number behind `name=` or `name:`, and the text with spaces in their place."""
    there = [one for one in keyed(text, name) if one.assigned]
    rest, position = [], 0
    for one in reversed(there):
        rest += [text[position : one.start], " " * (one.end - one.start)]
        position = one.end
    text = "".join([*rest, text[position:]])
    if not there:
        return None, text
    last = there[0]
    if last.number is None:
        return unclear(f"nothing behind `{name}{last.between}`, expected `{name}=NUMBER`"), text
    if not named and last.between == "= " and isinstance(last.number, Quantity):
        printed = last.number.text
        return unclear(
            f"`{name}= {printed}` may be a number of {name}, or {name} without one before the "
            f"measurement; expected `{name}={printed}`, or `value` in [objective]"
        ), text
    return last.number, text

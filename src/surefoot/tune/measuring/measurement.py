"""The outcome of measuring one configuration, and the rules that make it a number or a failure."""

from __future__ import annotations

import math
import signal
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

from surefoot.tune.definition.environment import Variable
from surefoot.tune.measuring.quantity import (
    UNSURE,
    VALUE,
    Missing,
    Quantity,
    into_declared,
    plain_number,
)
from surefoot.tune.measuring.unit_scales import factor
from surefoot.tune.plain_text import LONGEST_LINE, LONGEST_NAME, LONGEST_REASON, storable

T = TypeVar("T")
MAX_FAILURES = 5  # in a row, which end what is measured
MEASUREMENT = "the measurement"


@dataclass(frozen=True)
class Measurement:
    """Finite numbers that the objective gave.

    Args:
        readings: The number in the study's units, by the name `VALUE`, and those of its further
            objectives and constraints by their names.
        seconds: How long the measurement took.
        environment: Values of the environment by name, where the environment is observed.
        left_behind: A line about processes that it left running and that were ended.
        worker: Name of who or what measured, as the objective reported it; empty if it did not.
        ended_early: Whether it was ended after as many samples as were wanted of it.
        samples: How many samples it is of, where they were printed as such.
    """

    readings: Mapping[str, Quantity]
    seconds: float
    environment: Mapping[str, float] | None = None
    left_behind: str = ""
    worker: str = ""
    ended_early: bool = False
    samples: int = 0

    @property
    def number(self) -> Quantity:
        """The number, in the study's units."""
        return self.readings[VALUE]

    @property
    def value(self) -> float:
        """The number without its unit."""
        return self.number.value

    @property
    def sem(self) -> float:
        """Standard error of the number, 0 where it is unknown."""
        return self.number.sem

    @property
    def others(self) -> dict[str, Quantity]:
        """Readings of further objectives and constraints, by name."""
        return {name: one for name, one in self.readings.items() if name != VALUE}

    @property
    def values(self) -> dict[str, float]:
        """The numbers of further objectives and constraints, by name."""
        return {name: one.value for name, one in self.others.items()}

    @property
    def units(self) -> dict[str, str]:
        """Units of the readings, by name; an empty one where it has none."""
        return {name: one.unit for name, one in self.readings.items()}

    def measuring(self, number: Quantity) -> Measurement:
        """The same with another number."""
        return replace(self, readings={**self.readings, VALUE: number})

    def into(self, unit: str) -> Measurement | None:
        """The same with its number in another unit; None if it has no such one."""
        size = factor(self.number.unit, unit)
        return None if size is None else self.scaled({VALUE: (size, unit)})

    def scaled(self, sizes: Mapping[str, tuple[float, str]]) -> Measurement:
        """The same with some numbers in other units.

        Args:
            sizes: By name, what a number is multiplied by, and its unit then.
        """
        scaled = {
            name: replace(self.readings[name].times(size), unit=unit)
            for name, (size, unit) in sizes.items()
        }
        return replace(self, readings={**self.readings, **scaled})

    @property
    def record(self) -> dict[str, Any]:
        """JSON values by name, without those that say nothing, as `recorded` reads them."""
        known = {
            "sem": self.sem,
            "ended early": self.ended_early,
            "samples": self.samples,
            "worker": self.worker,
            "left behind": self.left_behind,
            "unit": self.number.unit,
            "constraints": self.values,
            "sems": {name: one.sem for name, one in self.others.items() if one.sem},
            "units": {name: one.unit for name, one in self.others.items()},
            "environment": dict(self.environment or {}),
        }
        given = {name: one for name, one in known.items() if one}
        return {"value": self.value, **given, "seconds": round(self.seconds, 6)}


@dataclass(frozen=True)
class Failure:
    """Why a configuration gave no measurement.

    Args:
        reason: The reason, in one line.
        output: The end of what was printed.
        seconds: How long the measurement took.
        blameless: Whether a number came and only its environment, its standard error, its worker
            or a constraint was missing or invalid, so that the failure says nothing about the
            configuration.
        left_behind: A line about processes that it left running and that were ended.
        unclear: Whether numbers came, and the study file does not say which is the measurement, or
            how it is converted to the study's unit.
        worker: Name of who or what tried, empty if it was not told.
    """

    reason: str
    output: str
    seconds: float
    blameless: bool = False
    left_behind: str = ""
    unclear: bool = False
    worker: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """JSON values by name, without those that say nothing, as `recorded` reads them."""
        known = {
            "output": self.output,
            "blameless": self.blameless,
            "worker": self.worker,
            "left behind": self.left_behind,
        }
        given = {name: one for name, one in known.items() if one}
        return {"failure": self.reason, **given, "seconds": round(self.seconds, 6)}


def recorded(record: Mapping[str, Any]) -> Measurement | Failure:
    """The measurement or failure of a `record`.

    Raises:
        KeyError, TypeError: If something is missing or of another type.
    """
    seconds, worker = _finite(record.get("seconds", 0.0)), _of(str, record.get("worker", ""))
    if "value" not in record:
        output, blameless = record.get("output", ""), record.get("blameless", False)
        reason = _of(str, record["failure"])
        return Failure(reason, _of(str, output), seconds, _of(bool, blameless), worker=worker)
    others, errors, units = (
        _of(dict, record.get(key, {})) for key in ("constraints", "sems", "units")
    )
    readings = {VALUE: _quantity(record["value"], record.get("sem", 0.0), record.get("unit", ""))}
    for name, one in others.items():
        readings[name] = _quantity(one, errors.get(name, 0.0), units.get(name, ""))
    return Measurement(
        readings,
        seconds,
        _of(dict, record["environment"]) if "environment" in record else None,
        worker=worker,
        ended_early=_of(bool, record.get("ended early", False)),
        samples=_of(int, record.get("samples", 0)),
    )


def _quantity(value: Any, sem: Any, unit: Any) -> Quantity:
    return Quantity(_finite(value), _finite(sem), _of(str, unit))


def _of(kind: type[T], value: Any) -> T:
    if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
        raise TypeError
    return value


def _finite(value: Any) -> float:
    number: float = _of(int | float, value)  # type: ignore[arg-type]
    if not math.isfinite(number):
        raise TypeError
    return float(number)


@dataclass(frozen=True)
class ObservedVariables:
    """The variables of an observed environment, which the objective reports."""

    variables: Mapping[str, Variable]

    def split(self, text: str) -> tuple[dict[str, str], str]:
        """The last `name=...` line of each variable, and the text without all such lines."""
        found, rest = {}, []
        for line in text.splitlines():
            name, equals, value = line.partition("=")
            if equals and name.strip() in self.variables:
                found[name.strip()] = value.strip()
            else:
                rest.append(line)
        return found, "\n".join(rest)

    def check(self, given: Mapping[str, Any], missing: str) -> dict[str, float] | Missing:
        """The reported values as numbers, or why they are invalid.

        `missing` is the reason where there is none, with `{0}` in place of the name.
        """
        values: dict[str, float] = {}
        for name, variable in self.variables.items():
            if name not in given:
                return Missing(missing.format(name), blameless=True)
            value = math.nan
            wanted: str | None = "a number"
            with suppress(TypeError, ValueError, OverflowError):
                value = strict_number(given[name])
                wanted = variable.mismatch(value)
            if wanted is not None:
                reason = f"the environment's {name} is {given[name]!s:.100}, expected {wanted}"
                return Missing(reason, blameless=True)
            values[name] = variable.nearest(value)
        return values


def strict_number(given: Any) -> float:
    """A number; a text is one by the grammar of printed quantities, not by that of Python.

    Raises:
        TypeError: If it is none.
        ValueError: If it is none.
    """
    found = plain_number(given) if isinstance(given, str) else float(given)
    if found is None:
        raise ValueError(f"{given!r:.100} is not a number")
    return found


def measurement_of(objectives: Sequence[str]) -> str:
    """The measured quantity, in words: the first of several objectives has a name."""
    return f"the objective {objectives[0]}" if objectives else MEASUREMENT


def outcome(
    number: Quantity | Missing,
    output: str,
    seconds: float,
    environment: Mapping[str, float] | Missing | None = None,
    left_behind: str = "",
    others: Mapping[str, Quantity] | Missing = MappingProxyType({}),
    worker: str | None = None,
    what: str = MEASUREMENT,
) -> Measurement | Failure:
    """A measurement if `number` is finite and all else is there; messages say `what` it is."""
    number = valid(number, what, blameless=False)
    if isinstance(number, Missing):
        missing = number
    elif isinstance(environment, Missing):
        missing = environment
    elif worker is not None and not worker.strip():
        missing = Missing("the worker has no name, expected `worker=NAME`", blameless=True)
    elif isinstance(others, Missing):
        missing = others
    else:
        readings = {
            name: replace(one, text=storable(one.text)[:LONGEST_REASON])
            for name, one in {VALUE: number, **others}.items()
        }
        who = storable(worker or "").strip()[:LONGEST_NAME]
        return Measurement(readings, seconds, environment, left_behind, who)
    reason = storable(missing.reason)[:LONGEST_REASON]
    output = storable(output)[-LONGEST_LINE:].strip()
    return Failure(reason, output, seconds, missing.blameless, left_behind, missing.unclear)


def valid(number: Quantity | Missing, what: str, blameless: bool) -> Quantity | Missing:
    """A number that can be used, or why there is none: an infinite one is the configuration's
    fault.

    Args:
        number: The number, or why there is none.
        what: What it is, in words.
        blameless: Whether NaN says nothing about the configuration.
    """
    if isinstance(number, Missing):
        return number.of(what) if number.unclear and what != MEASUREMENT else number
    if math.isnan(number.value):
        return Missing(f"{what} is NaN, expected a finite number", blameless)
    if math.isinf(number.value):
        return Missing(f"{what} is infinite, expected a finite number")
    if not 0.0 <= number.sem < math.inf:
        of = "" if what == MEASUREMENT else f" of {what}"
        return Missing(
            f"the standard error{of} is {number.sem:g}, expected a finite number of at least 0",
            blameless=True,
        )
    return number


def positive(result: Measurement | Failure) -> Measurement | Failure:
    """A measurement that has a logarithm; a failure of one that has none."""
    if isinstance(result, Failure) or result.value > 0.0:
        return result
    reason = f"the measurement is {result.value:g}, expected a number above 0, since log = true"
    return Failure(reason, "", result.seconds, left_behind=result.left_behind)


def timed_out(timeout: float | None) -> str:
    """The reason of a failure by timeout."""
    return f"no end within the timeout of {timeout:g} s" if timeout else "no end"


def describe_exit(code: int) -> str:
    """An exit code in words, as `subprocess` gives it: negative for a signal."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def in_study_units(
    result: Measurement,
    declared: Mapping[str, str],
    earlier: Mapping[str, str],
    objectives: Collection[str] = (),
) -> Measurement | Failure:
    """A measurement in the units of its study, with the unit that was printed where it has none.

    A number without a unit is in the declared one. Objectives are converted to the units of the
    first measurement; a constraint only where its unit is declared, since that of its limit is not
    known otherwise. Of a declared unit that is not known, such as requests/s, `12.7k` is 12,700 and
    `req/s` another name. Of one that is known, `us/op` is so much for one of what is counted.

    Args:
        result: The measurement as it was printed.
        declared: Units of the study file, by name.
        earlier: Units of the study's first measurement, by name.
        objectives: The names that are of further objectives.

    Returns:
        The measurement, or why it cannot be compared with the others.
    """
    sizes: dict[str, tuple[float, str]] = {}
    for name, printed in result.units.items():
        first = earlier.get(name)
        if name in declared:
            size, wanted = into_declared(printed, declared[name])
        else:
            wanted = printed if first is None else first
            size = factor(printed, wanted)
        converted = name in (VALUE, *objectives) or name in declared
        if size is None or (size != 1.0 and not converted):
            return _refused(result, name, printed, wanted)
        if first and factor(first, wanted) != 1.0:
            return _refused(result, name, wanted, first)
        sizes[name] = size, wanted
    found = result.scaled(sizes)
    for name in sizes:
        number = valid(found.readings[name], MEASUREMENT if name == VALUE else name, blameless=True)
        if isinstance(number, Missing):
            return Failure(
                f"{number.reason} in {sizes[name][1]}",
                "",
                result.seconds,
                number.blameless,
                result.left_behind,
            )
    return found


def _refused(result: Measurement, name: str, unit: str, other: str) -> Failure:
    what = MEASUREMENT if name == VALUE else name
    return Failure(
        f"{what} is {unit_phrase(unit)}, and those of the study are {unit_phrase(other)}; "
        "expected the same, or its `unit` in the study file",
        "",
        result.seconds,
        blameless=True,
        left_behind=result.left_behind,
        unclear=True,
    )


def unit_phrase(unit: str) -> str:
    """How a number is printed, in words: in its unit, or without one."""
    if unit.endswith(UNSURE):
        return f"followed by `{unit.removesuffix(UNSURE)}`, a unit or the name of something else"
    return f"in {unit}" if unit else "without a unit"

"""The outcome of measuring one configuration, and the rules that make it a number or a failure."""

from __future__ import annotations

import math
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from surefoot.tune.definition.environment import Variable
from surefoot.tune.measuring.observed_constraints import ObservedConstraints
from surefoot.tune.measuring.printed_value import Unclear
from surefoot.tune.measuring.quantity import Quantity, plain_number
from surefoot.tune.measuring.unit_scales import factor, scaled
from surefoot.tune.plain_text import storable

_UNCONSTRAINED = ObservedConstraints({})
OUTPUT_CHARACTERS = 2000  # of a failed run's output, kept with its trial
REASON_CHARACTERS = 500
WORKER_CHARACTERS = 200
MEASUREMENT = "the measurement"

VALUE = "="  # in place of a name that no constraint can have


@dataclass(frozen=True)
class Measurement:
    """A finite number that the objective gave.

    Args:
        value: The number, in the study's units.
        seconds: How long the measurement took.
        environment: Values of the environment by name, where the environment is observed.
        left_behind: A line about processes that it left running and that were ended.
        constraints: Values of the study's constraints by name.
        sem: Standard error of the number, 0 where it is unknown.
        worker: Name of who or what measured, as the objective reported it; empty if it did not.
        units: Printed units, of constraints by name and of the number by the name `VALUE`, where
            the objective prints text; an empty one where it has none.
        text: What the number was read from, where the objective prints text.
        beside: Measurements of a companion back to back with it, in its unit.
        ended_early: Whether its samples were clearly worse than the best known configuration, so
            that it is of those until then.
        samples: How many samples it is of, where they were printed as such.
        sems: Standard errors of `constraints` by name, of those where they are known.
    """

    value: float
    seconds: float
    environment: Mapping[str, float] | None = None
    left_behind: str = ""
    constraints: Mapping[str, float] = field(default_factory=dict)
    sem: float = 0.0
    worker: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    beside: tuple[Measurement, ...] = ()
    ended_early: bool = False
    samples: int = 0
    sems: Mapping[str, float] = field(default_factory=dict)

    def into(self, unit: str) -> Measurement | None:
        """The same with its number in another unit; None if it has no such one."""
        size = factor(self.units.get(VALUE, ""), unit)
        if size is None:
            return None
        return replace(self.scaled({VALUE: size}), units={**self.units, VALUE: unit})

    def scaled(self, sizes: Mapping[str, float]) -> Measurement:
        """Its numbers in other units: each is multiplied by the size of its name, by default 1."""
        size = sizes.get(VALUE, 1.0)
        return replace(
            self,
            value=scaled(self.value, size),
            sem=scaled(self.sem, size),
            beside=tuple(one.scaled({VALUE: size}) for one in self.beside),
            constraints={
                name: scaled(one, sizes.get(name, 1.0)) for name, one in self.constraints.items()
            },
            sems={name: scaled(one, sizes.get(name, 1.0)) for name, one in self.sems.items()},
        )


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

    def check(self, given: Mapping[str, Any], missing: str) -> dict[str, float] | str:
        """The reported values as numbers, or why they are invalid.

        `missing` is the reason where there is none, with `{0}` in place of the name.
        """
        values: dict[str, float] = {}
        for name, variable in self.variables.items():
            if name not in given:
                return missing.format(name)
            value = math.nan
            wanted: str | None = "a number"
            with suppress(TypeError, ValueError, OverflowError):
                value = strict_number(given[name])
                wanted = variable.mismatch(value)
            if wanted is not None:
                return f"the environment's {name} is {given[name]!s:.100}, expected {wanted}"
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
    value: Quantity | Unclear | str,
    output: str,
    seconds: float,
    environment: Mapping[str, float] | str | None = None,
    left_behind: str = "",
    constraints: ObservedConstraints = _UNCONSTRAINED,
    worker: str | None = None,
    blameless: bool = False,
    what: str = MEASUREMENT,
) -> Measurement | Failure:
    """A measurement if `value` is finite and all else is valid.

    A string is a reason why there is none, which may be `blameless`. Messages say `what` it is.
    """
    unclear = False
    if isinstance(value, str):
        reason = value
    elif isinstance(value, Unclear):
        reason, blameless, unclear = value.reason, True, True
        reason = reason if what == MEASUREMENT else f"{what}: {reason}"
    elif math.isnan(value.value):
        reason = f"{what} is NaN, expected a finite number"
    elif math.isinf(value.value):
        reason = f"{what} is infinite, expected a finite number"
    elif isinstance(environment, str):
        reason, blameless = environment, True
    elif not 0.0 <= value.sem < math.inf:
        reason = f"the standard error is {value.sem:g}, expected a finite number of at least 0"
        blameless = True
    elif worker is not None and not worker.strip():
        reason, blameless = "the worker has no name, expected `worker=NAME`", True
    elif constraints.reason:
        reason, blameless = constraints.reason, constraints.blameless
        unclear = constraints.unclear
    else:
        return Measurement(
            value.value,
            seconds,
            environment,
            left_behind,
            constraints.values,
            value.sem,
            storable(worker or "").strip()[:WORKER_CHARACTERS],
            {VALUE: value.unit, **constraints.units} if value.text else {},
            storable(value.text)[:REASON_CHARACTERS],
            sems=constraints.sems,
        )
    reason = storable(reason)[:REASON_CHARACTERS]
    output = storable(output)[-OUTPUT_CHARACTERS:].strip()
    return Failure(reason, output, seconds, blameless, left_behind, unclear)


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

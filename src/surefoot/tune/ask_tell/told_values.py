"""The outcome of a configuration as it is told: checked before anything is recorded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import (
    Failure,
    Measurement,
    ObservedVariables,
    outcome,
    positive,
    strict_number,
)
from surefoot.tune.measuring.quantity import VALUE, Missing, Quantity, sole
from surefoot.tune.plain_text import LONGEST_NAME, shown, storable
from surefoot.types import InvalidInput

Given = float | str | None


def result_of(
    study_file: StudyFile,
    settled: Callable[[Measurement], Measurement | Failure],
    value: Given,
    sem: Given = 0.0,
    values: Mapping[str, Given] | None = None,
    worker: str = "",
    failed: str = "",
) -> Measurement | Failure:
    """The outcome of a configuration, from what was told of it.

    Args:
        study_file: The study file.
        settled: Function that returns a measurement in the units of the study, or why it has none.
        value: The measurement, a number or a text, which may have a unit that can be converted to
            that of the study and a standard error, as "12.5 ± 0.4 ms"; None for a failure.
        sem: Its standard error in the unit of the value, or with a unit of its own; 0 where it is
            unknown or told with the value.
        values: Each further objective and constraint, told as the value is, and each variable of an
            observed environment, by name.
        worker: Name of who or what measured, of a failure too.
        failed: Why there is no measurement; empty if there is one.

    Returns:
        The outcome.

    Raises:
        InvalidInput: If something is missing, of the wrong kind, or unknown.
    """
    given = dict(values or {})
    scheme = study_file.scheme
    observed = scheme.variables if scheme.observed else {}
    for name in given:
        if name not in (*study_file.reported, *observed):
            known = ", ".join([*study_file.reported, *observed])
            wanted = f"one of {known}" if known else "none: the study has no constraints"
            raise InvalidInput(f"got a value of {shown(name)}, expected {wanted}")
    for what, text in (("worker", worker), ("failed", failed)):
        if not isinstance(text, str):
            raise InvalidInput(f"{what}: got {shown(text)}, expected a text")
    error = _number("sem", 0.0 if sem is None and failed.strip() else sem)
    if failed.strip():
        if value is not None:
            raise InvalidInput(
                f"got the value {shown(value)} of a configuration that failed, expected one of "
                "the two"
            )
        if beside := [*given, *["sem"] * (error.value != 0.0)]:
            raise InvalidInput(
                f"got {', '.join(map(shown, beside))} of a configuration that failed, expected no "
                "values beside the reason"
            )
        return replace(outcome(Missing(failed), "", 0.0), worker=_worker(worker))
    if value is None:
        raise InvalidInput("got no value, expected a number, or `failed` with the reason")
    number = _number("value", value, with_error=True)
    if error.value < 0.0:
        raise InvalidInput(f"sem: got {shown(sem)}, expected a standard error of at least 0")
    if error.value and number.sem:
        raise InvalidInput(
            f"sem: got {shown(sem)} beside the value {shown(value)}, expected one of the two errors"
        )
    for name in (*study_file.reported, *observed):
        if name not in given:
            raise InvalidInput(f"got no value of {name}, expected {name}=NUMBER beside the value")
    if not error.unit:
        number = replace(number, sem=number.sem or error.value)
    others = {name: _number(name, given[name], with_error=True) for name in study_file.reported}
    seen = {name: _number(name, given[name]) for name in observed}
    if wrong := [name for name, one in seen.items() if one.unit]:
        expected = f"{shown(given[wrong[0]])}, expected a number without a unit"
        raise InvalidInput(f"{wrong[0]}: got {expected}")
    numbers = {name: one.value for name, one in seen.items()}
    found = ObservedVariables(observed).check(numbers, "") if observed else None
    if isinstance(found, Missing):
        raise InvalidInput(found.reason)
    result = settled(Measurement({VALUE: number, **others}, 0.0, found, worker=_worker(worker)))
    if study_file.objective.log:
        result = positive(result)
    if isinstance(result, Failure):
        raise InvalidInput(result.reason)
    if not error.unit:
        return result
    if (same := error.into(result.number.unit)) is None or math.isinf(same.value):
        raise InvalidInput(f"sem: got {shown(sem)}, expected one in {result.number.unit}")
    return result.measuring(replace(result.number, sem=same.value))


def _worker(text: str) -> str:
    return storable(text).strip()[:LONGEST_NAME]


def _number(name: str, given: object, with_error: bool = False) -> Quantity:
    """A finite number as it was told, which may have a unit."""
    told = sole(given) if isinstance(given, str) else None
    found = Quantity(math.nan)
    if told is not None and (with_error or not told.sem):
        found = told
    elif not isinstance(given, bool):
        with suppress(TypeError, ValueError, OverflowError):
            number = strict_number(given.strip() if isinstance(given, str) else given)
            found = Quantity(number, text=str(given))
    if not (math.isfinite(found.value) and 0.0 <= found.sem < math.inf):
        raise InvalidInput(f"{name}: got {shown(given)}, expected a finite number such as 12.5")
    return found

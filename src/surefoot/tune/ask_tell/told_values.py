"""The outcome of a configuration as it is told: checked before anything is recorded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import (
    VALUE,
    Failure,
    Measurement,
    ObservedVariables,
    outcome,
    positive,
    strict_number,
)
from surefoot.tune.measuring.quantity import Missing, Quantity, sole
from surefoot.tune.plain_text import LONGEST_NAME, shown, storable
from surefoot.types import InvalidInput

Given = float | str | None


def result_of(
    study_file: StudyFile,
    value: Given,
    sem: Given = 0.0,
    values: Mapping[str, Given] | None = None,
    worker: str = "",
    failed: str = "",
) -> Measurement | Failure:
    """The outcome of a configuration, from what was told of it.

    Args:
        study_file: The study file.
        value: The measurement, a number in the unit of the study or a text, which may have a unit
            that can be converted to it and a standard error, as "12.5 ± 0.4 ms"; None for a
            failure.
        sem: Its standard error, 0 where it is unknown or told with the value.
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
    unit = study_file.objective.unit or ""
    error = 0.0 if sem is None and failed.strip() else _number("sem", sem, unit).value
    if failed.strip():
        if value is not None:
            raise InvalidInput(
                f"got the value {shown(value)} of a configuration that failed, expected one of "
                "the two"
            )
        if beside := [*given, *["sem"] * (error != 0.0)]:
            raise InvalidInput(
                f"got {', '.join(map(shown, beside))} of a configuration that failed, expected no "
                "values beside the reason"
            )
        return replace(outcome(Missing(failed), "", 0.0), worker=_worker(worker))
    if value is None:
        raise InvalidInput("got no value, expected a number, or `failed` with the reason")
    number = _number("value", value, unit, with_error=True)
    if error < 0.0:
        raise InvalidInput(f"sem: got {shown(sem)}, expected a standard error of at least 0")
    if error and number.sem:
        raise InvalidInput(
            f"sem: got {shown(sem)} beside the value {shown(value)}, expected one of the two errors"
        )
    for name in (*study_file.reported, *observed):
        if name not in given:
            raise InvalidInput(f"got no value of {name}, expected {name}=NUMBER beside the value")
    others = {
        name: _number(name, given[name], one.unit or "", with_error=True)
        for name, one in study_file.reported.items()
    }
    seen = {name: _number(name, given[name]).value for name in observed}
    found = ObservedVariables(observed).check(seen, "") if observed else None
    if isinstance(found, Missing):
        raise InvalidInput(found.reason)
    readings = {VALUE: replace(number, sem=error or number.sem), **others}
    result: Measurement | Failure = Measurement(readings, 0.0, found, worker=_worker(worker))
    if study_file.objective.log:
        result = positive(result)
    if isinstance(result, Failure):
        raise InvalidInput(result.reason)
    return result


def _worker(text: str) -> str:
    return storable(text).strip()[:LONGEST_NAME]


def _number(name: str, given: object, unit: str = "", with_error: bool = False) -> Quantity:
    """A finite number, or the text of one, which may be in another unit than the study's."""
    told = sole(given) if isinstance(given, str) else None
    found = Quantity(math.nan)
    if told is not None and (with_error or not told.sem):
        same = told.into(unit) if unit or not told.unit else None
        if same is None:
            wanted = f"one in {unit}" if unit else "one without a unit: the study file has none"
            raise InvalidInput(f"{name}: got {shown(given)}, expected {wanted}")
        found = same
    elif not isinstance(given, bool):
        with suppress(TypeError, ValueError, OverflowError):
            found = Quantity(strict_number(given.strip() if isinstance(given, str) else given))
    if not (math.isfinite(found.value) and 0.0 <= found.sem < math.inf):
        raise InvalidInput(f"{name}: got {shown(given)}, expected a finite number such as 12.5")
    return found

"""Measurements from a table become trials of a study: the inverse of `surefoot export`."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from optuna.trial import FrozenTrial, TrialState, create_trial

from surefoot.integrations.optuna import TIME
from surefoot.tune.definition.environment import Variable
from surefoot.tune.definition.parameters import value_of, written
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import MEASUREMENT, unit_phrase
from surefoot.tune.measuring.quantity import VALUE as NUMBER
from surefoot.tune.measuring.quantity import plain_number
from surefoot.tune.measuring.unit_scales import factor, scaled
from surefoot.tune.plain_text import shown, storable
from surefoot.tune.study.compatibility import DEFINITION, PARAMETER_UNITS
from surefoot.tune.study.location import NoStudy
from surefoot.tune.study.opened_study import create_study, open_study
from surefoot.tune.study.parameter_units import recorded_parameter_units, size_of
from surefoot.tune.study.tables import FORMULA, check_cells, read_table, reported
from surefoot.tune.study.trial_attributes import (
    IMPORTED,
    SECONDS,
    UNITS,
    attributes_of,
    study_units,
)
from surefoot.tune.study.trial_rows import add_finished, new_rows
from surefoot.tune.system import PATIENCE
from surefoot.types import InvalidInput

VALUE, FAILED, STATE, DURATION = "value", "failure", "state", "seconds"
ERROR, WHO, WHEN = "sem", "worker", "time"
UNIT = "unit_"  # before the name of a column, of the one with its unit
EXPECTED_TIME = "a time such as 2026-03-01 14:30:00, or in seconds since 1970"
STARTED = "start"  # the name of `export`, where the study's own time may be another
IGNORED = ("", "number", "weight", "datetime_complete")  # of which a study makes its own
IGNORED_PREFIXES = ("user_attrs_", "system_attrs_")  # of Optuna's `trials_dataframe`
OTHER_NAMES = {"datetime_start": WHEN, "duration": DURATION}  # of the same table
MEASURED, NOT_MEASURED = ("complete", ""), ("fail", "failed")
NOTHING = "; nothing was imported"
UNFINISHED = ("running", "waiting", "pruned", "interrupted")
_DURATION = re.compile(r"(?:([0-9]+) days? )?([0-9]+):([0-5][0-9]):([0-5][0-9](?:\.[0-9]+)?)")
_CALENDAR = re.compile(r"[0-9]{4}-")
_DAY = re.compile(r"(?:19|20)[0-9]{6}")  # 20260301 is a day, or seconds


@dataclass(frozen=True)
class Imported:
    """The result of `import_table`.

    Args:
        trials: Trials added.
        failed: Added trials without a measurement.
        present: Rows that were trials of the study already.
        skipped: Rows of trials that were not finished.
        ignored: Columns that were not used.
        outside: Trials of another study with values outside the present ranges.
    """

    trials: int
    failed: int
    present: int
    skipped: int
    ignored: tuple[str, ...] = ()
    outside: int = 0


def import_table(
    path: Path | str, table: Path | str, note: Callable[[str], None] = lambda text: None
) -> Imported:
    """Add the rows of a table to a study, as finished trials; the study is created if need be.

    Columns are named `params_NAME`, as `export` and Optuna's `trials_dataframe` write them, or like
    the parameters, in a study with an environment also `environment_NAME` or like its variables,
    and `value`; `failure` is the reason of a row without a value, and `seconds` how long it took;
    `sem` is the standard error of the value, `worker` the name of the machine, `time` (or `start`,
    of `export`) when it began. A constraint has a column `constraint_NAME` or of its name if it was
    measured, and `sem_NAME` is its standard error. A cell of an inactive parameter is ignored, and
    a failure needs no environment. `unit_COLUMN` is the unit of a column, in all rows the same one;
    numbers without one are in that of the study. A row whose `state` is running, waiting, pruned or
    interrupted is left out. All rows are checked before the first is added. A row that is a trial
    of the study already, imported or measured, is not added again: one with the same parameters,
    environment and value, and the same worker and time where both are given.

    Args:
        path: The study file.
        table: The CSV or Parquet file.
        note: Shows every few seconds how far it is.

    Returns:
        How many trials were added.

    Raises:
        StudyFileError: If the study file is invalid or the storage holds another study.
        InvalidInput: If the table cannot be read, lacks a column, or has a value outside the
            ranges; nothing is added.
        StorageFailed: If the storage cannot be written; the rows so far are there, and the same
            command adds the others.
    """
    study_file = StudyFile.load(path)
    read, (measured, of_parameters) = _Table(study_file, Path(table)), own_units(study_file)
    trials = read.trials(measured, of_parameters)
    if read.assumed:
        note(assumption(read.path.name, read.assumed))
    added = add_trials(study_file, trials, read.skipped, 0, measured, of_parameters, note=note)
    return replace(added, ignored=tuple(read.ignored))


def own_units(study_file: StudyFile) -> tuple[dict[str, str], dict[str, str]]:
    """Units of measurements and of parameters: of a study file, else as its study has them.

    That of numbers without one is empty.
    """
    declared, of_parameters = study_file.declared_units, dict(study_file.units.parameters)
    try:
        opened = open_study(study_file.path)
    except NoStudy:
        return declared, of_parameters
    state = opened.state()
    chosen = {name: "" for trial in state.trials for name in trial.params}
    return (
        {**study_units(state.attributes), **state.study_file.recorded, **declared},
        {**chosen, **recorded_parameter_units(state.attributes), **of_parameters},
    )


def assumption(source: str, units: Mapping[str, str]) -> str:
    """In which units numbers are taken to be, of which a file says none."""
    each = ", ".join(f"{MEASUREMENT if n == NUMBER else n} in {one}" for n, one in units.items())
    return f"{source} has no unit of these numbers, which are taken as they are: {each}"


def add_trials(
    study_file: StudyFile,
    trials: Sequence[tuple[FrozenTrial, datetime | None]],
    skipped: int,
    outside: int,
    units: Mapping[str, str],
    of_parameters: Mapping[str, str],
    *,
    note: Callable[[str], None],
) -> Imported:
    """Add finished trials to a study, but for those that it has; it is created if need be.

    Args:
        study_file: The study file.
        trials: Each trial, and when its measurement began, None where it is unknown.
        skipped: Trials that were left out as unfinished.
        outside: Trials that were left out for their parameters.
        units: Units of their numbers by name, empty where they have none.
        of_parameters: Those of their parameters.
        note: Shows every few seconds how far it is.
    """
    opened, due = create_study(study_file), time.monotonic() + PATIENCE
    with opened.location.errors("importing"), opened.lock():
        state = opened.read()
        new, there = new_rows(trials, state.trials), study_units(state.attributes)
        for name, unit in units.items():
            before = there.get(name, unit)
            if name not in study_file.declared_units and factor(before, unit) != 1.0:
                raise InvalidInput(
                    f"{study_file.path.name}: another process has just added numbers "
                    f"{unit_phrase(before)}; nothing was imported, run the same command again"
                )
        if new:
            opened.study.set_user_attr(UNITS, {**units, **there})
            defined = opened.study.user_attrs[DEFINITION]
            known = {n: unit for n, unit in of_parameters.items() if unit}
            known |= defined[PARAMETER_UNITS]
            opened.study.set_user_attr(DEFINITION, {**defined, PARAMETER_UNITS: known})
        for count in add_finished(opened.study, opened.storage, new):
            if time.monotonic() >= due and count < len(new):
                note(f"imported {count:,} of {len(new):,} trials")
                due = time.monotonic() + PATIENCE
    failed = sum(trial.state == TrialState.FAIL for trial in new)
    return Imported(len(new), failed, len(trials) - len(new), skipped, outside=outside)


class _Table:
    """The rows of a table, as trials of a study."""

    def __init__(self, study_file: StudyFile, path: Path) -> None:
        self.study_file, self.path = study_file, path
        header, self._rows = read_table(path)
        self.variables = study_file.scheme.variables
        names = OTHER_NAMES | {
            f"values_{key}": f"objective_{name}" if index else VALUE
            for index, name in enumerate(study_file.scheme.objectives)
            for key in (index, name)
        }
        own = {*study_file.parameters, *self.variables, *study_file.reported}
        self.header = [name if name in own else names.get(name, name) for name in header]
        self.parameters = {
            name: self._column(f"params_{name}", name) for name in study_file.parameters
        }
        self.environment = {
            name: self._column(f"environment_{name}", name) for name in self.variables
        }
        self.value = self._column(VALUE)
        self.constraints = {
            name: self._column(column, name)
            for name, column in reported(study_file).items()
            if name in self.header or column in self.header
        }
        used, named = self._used(), {**self.environment, **self.parameters}
        self.others = {name: index for index, name in enumerate(self.header) if index not in used}
        errors = [f"{ERROR}_{name}" for name in self.constraints]
        units = [f"{UNIT}{self.header[index]}" for index in used]
        known = (FAILED, STATE, DURATION, ERROR, *errors, WHO, WHEN, STARTED, *IGNORED, *units)
        self.ignored: list[str] = []
        for index, name in enumerate(self.header):
            if index in used:
                continue
            if name.startswith(IGNORED_PREFIXES):
                self.ignored.append(name)
            elif name in self.header[:index]:
                raise InvalidInput(f"{path}: the column {shown(name)} is there twice")
            elif name not in known and name in named:
                raise InvalidInput(
                    f"{path}: got the columns {shown(self.header[named[name]])} and "
                    f"{shown(name)}, expected one of the two"
                )
            elif name not in known:
                raise InvalidInput(
                    f"{path}: unknown column {shown(name)}{_of_export(name)}, expected the "
                    f"parameters ({', '.join(study_file.parameters)}), "
                    f"{', '.join([VALUE, *reported(study_file)])}, {STATE}, {FAILED}, "
                    f"{DURATION}, {ERROR}, {WHO} and {WHEN}, and {UNIT}COLUMN for the unit of one"
                )
        self.skipped = 0
        self.sizes: dict[int, float] = {}  # what numbers are multiplied by, by column
        self.assumed: dict[str, str] = {}  # units of numbers that have none in the table

    def trials(
        self, measured: dict[str, str], of_parameters: dict[str, str]
    ) -> list[tuple[FrozenTrial, datetime | None]]:
        """The trials of all finished rows, and when each began, None where it is unknown.

        Args:
            measured: Units of measurements by name; those that it lacks are added.
            of_parameters: Those of parameters.

        Raises:
            InvalidInput: If a row is wrong, or a unit cannot be converted.
        """
        seen: dict[str, int] = {}
        trials = []
        rows = [_Row(self, line, cells) for line, cells in self._rows]
        for row in rows:
            check_cells(self.path, self.header, row.line, row.cells, NOTHING)
            if len(row.cells) < len(self.header):
                raise row.refused(
                    f"got {len(row.cells)} cells, expected {len(self.header)} as in the first "
                    "line: the row is not complete"
                )
        self._convert(rows, {NUMBER: self.value, **self.constraints}, measured)
        self._convert(rows, self.parameters, of_parameters)
        for name in (NUMBER, *self.constraints):
            measured.setdefault(name, "")
        for row in rows:
            if row.is_unfinished():
                self.skipped += 1
                continue
            cells = row.cells
            digest = hashlib.sha256(repr((self.header, cells)).encode()).hexdigest()[:16]
            seen[digest] = seen.get(digest, 0) + 1  # equal rows are measurements of their own
            trials.append((row.trial(f"{digest}-{seen[digest]}"), row.begun()))
        return trials

    def _convert(
        self, rows: Sequence[_Row], columns: Mapping[str, int], own: dict[str, str]
    ) -> None:
        """Find the sizes of columns in the units of the study, which has theirs if it has none."""
        for name, index in columns.items():
            column, unit = f"{UNIT}{self.header[index]}", ""
            for row in rows:
                given = row.text(column)
                if unit and given not in ("", unit):
                    raise row.wrong(column, given, f"{shown(unit)} as in the rows before")
                unit = unit or given
            if unit:
                what = MEASUREMENT if name == NUMBER else name
                wanted = own.setdefault(name, unit)
                self.sizes[index] = size_of(what, unit, wanted, self.path, self.study_file)
            elif own.get(name):
                self.assumed[name] = own[name]

    def _column(self, *names: str) -> int:
        for name in names:
            if name in self.header:
                return self.header.index(name)
        raise InvalidInput(
            f"{self.path}: no column {names[-1]!r}, expected one beside "
            f"{', '.join(map(shown, self.header))}"
        )

    def _used(self) -> dict[int, str]:
        """Contents of the columns of the study, by position; each holds one thing."""
        used = {self.value: "the measurements"}
        for kind, prefix, columns in (
            ("parameter", "params", self.parameters),
            ("variable", "environment", self.environment),
            ("constraint", "constraint", self.constraints),
        ):
            for name, index in columns.items():
                if index in used:
                    raise InvalidInput(
                        f"{self.path}: the column {shown(self.header[index])} would be both "
                        f"{used[index]} and the {kind} {shown(name)}, expected a column for each: "
                        f"name that of the {kind} {prefix}_{name}"
                    )
                used[index] = f"the {kind} {shown(name)}"
        return used


@dataclass(frozen=True)
class _Row:
    """A row of a table, of as many cells as its header."""

    table: _Table
    line: int
    cells: list[str]

    def is_unfinished(self) -> bool:
        """Whether a row is of a trial without an end; `InvalidInput` for a wrong state."""
        given = self.text(STATE)
        state, value = given.lower().removeprefix("trialstate."), self._cell(self.table.value)
        if state in UNFINISHED:
            return True
        if state not in (*MEASURED, *NOT_MEASURED):
            known = ", ".join(("complete", "fail", *UNFINISHED))
            raise self.wrong(STATE, given, f"one of {known}")
        if state and (state in MEASURED) is not bool(value):
            expected = "a value" if state in MEASURED else "no value"
            raise self.wrong(STATE, given, f"{expected} beside it, got {shown(value)}")
        if value and (reason := self.text(FAILED)):
            raise self.wrong(FAILED, reason, f"an empty cell beside the value {shown(value)}")
        return False

    def trial(self, identity: str) -> FrozenTrial:
        """The trial of this row."""
        space = self.table.study_file.space
        params: dict[str, Any] = {}
        for name in space.order:
            if space.is_active(name, params):
                params[name] = self._parameter(name)
        if violated := space.violated_by(params):
            values = ", ".join(f"{name} = {shown(one)}" for name, one in params.items())
            raise self.refused(
                f"got {values}, which violates {shown(violated[0])}, expected configurations that "
                "satisfy every rule of [[require]]"
            )
        measured = self._cell(self.table.value)
        under = {name: self._cell(index) for name, index in self.table.environment.items()}
        if not measured and not any(under.values()):  # a failure may have none
            under = {}
        cells = {name: self._cell(index) for name, index in self.table.constraints.items()}
        of = self.table.constraints
        others = {n: self._number(n, cell, of[n]) for n, cell in cells.items() if cell}
        errors = {name: self._error(f"{ERROR}_{name}", of[name]) for name in others}
        further = others.keys() & self.table.study_file.scheme.further
        if further and not (measured or self.text(FAILED) or self.text(STATE)):
            raise self.refused(
                f"got no {VALUE} beside {' and '.join(sorted(further))}, expected it, or "
                f"{STATE} = fail for a run that failed"
            )
        reason = storable(_unquoted(self.text(FAILED))) or "no value in the table"
        record = {
            "seconds": self._seconds(),
            "sem": self._error(ERROR, self.table.value),
            "worker": storable(_unquoted(self.text(WHO))) or None,
            "environment": {
                name: self._observed(name, cell, self.table.variables[name])
                for name, cell in under.items()
            }
            or None,
            "constraints": others or None,
            "sems": {name: one for name, one in errors.items() if one} or None,
            "failure": None if measured else reason,
        }
        attributes = attributes_of({name: one for name, one in record.items() if one is not None})
        attributes[IMPORTED] = identity
        if self.begun() is None:
            attributes[TIME] = None  # when it was imported says nothing about it
        every = self.table.study_file.distributions
        return self._at(
            create_trial(
                state=TrialState.COMPLETE if measured else TrialState.FAIL,
                value=self._value(measured) if measured else None,
                params=params,
                distributions={name: every[name] for name in params},
                user_attrs=attributes,
            )
        )

    def _error(self, column: str, of: int) -> float | None:
        """A standard error of a column, None for an empty cell."""
        cell = self.text(column)
        return self._at_least_0(column, cell, "a standard error", of) if cell else None

    def _value(self, cell: str) -> float:
        value = self._number(VALUE, cell, self.table.value)
        if value <= 0.0 and self.table.study_file.objective.log:
            raise self.wrong(VALUE, cell, "a number above 0, since log = true")
        return value

    def _at(self, trial: FrozenTrial) -> FrozenTrial:
        """The trial with the time of the row, where it has one."""
        if begun := self.begun():
            trial.datetime_start = begun
            try:
                lasted = timedelta(seconds=trial.user_attrs.get(SECONDS, 0.0))
                trial.datetime_complete = _storable(begun + lasted)
            except (ValueError, OverflowError, OSError):
                expected = "a duration that ends before the year 10000"
                raise self.wrong(DURATION, self.text(DURATION), expected) from None
        return trial

    def begun(self) -> datetime | None:
        """When the measurement began, None where that is unknown."""
        return self._clock(WHEN) or self._clock(STARTED)

    def _clock(self, column: str) -> datetime | None:
        """A time as ISO 8601 writes it with `-`, or in seconds since 1970; None for no cell."""
        text = self.text(column)
        if not text:
            return None
        seconds = plain_number(text)
        if (seconds is None and not _CALENDAR.match(text)) or _DAY.fullmatch(text):
            raise self.wrong(column, text, EXPECTED_TIME)
        try:
            if seconds is not None:
                return _storable(datetime.fromtimestamp(seconds))
            given = datetime.fromisoformat(text)
            given = given if given.tzinfo is None else given.astimezone().replace(tzinfo=None)
            return _storable(given)
        except (ValueError, OverflowError, OSError):
            raise self.wrong(column, text, EXPECTED_TIME) from None

    def _parameter(self, name: str) -> Any:
        cell, size = _unquoted(self._cell(index := self.table.parameters[name])), self.table.sizes
        parameter, number = self.table.study_file.space.parameters[name], plain_number(cell)
        if number is not None and number not in parameter.special and size.get(index, 1.0) != 1.0:
            cell = f"{scaled(number, size[index]):.15g}"
        value = value_of(cell, parameter)
        if value is None:
            raise self.wrong(name, cell, written(parameter))
        return value

    def _observed(self, name: str, cell: str, variable: Variable) -> float:
        """The value of a variable of the environment, as a run would record it."""
        value = self._number(name, cell)
        wanted = variable.mismatch(value)
        if wanted is not None:
            raise self.wrong(name, cell, wanted)
        return variable.nearest(value)

    def _seconds(self) -> float | None:
        """A duration in seconds, or as pandas writes one, `0 days 00:01:02.5`; None for no cell."""
        if not (cell := self.text(DURATION)):
            return None
        if (parts := _DURATION.fullmatch(cell)) is None:
            return self._at_least_0(DURATION, cell, "a duration")
        days, hours, minutes, seconds = (float(part or 0) for part in parts.groups())
        return 86400.0 * days + 3600.0 * hours + 60.0 * minutes + seconds

    def _at_least_0(self, column: str, cell: str, what: str, of: int = -1) -> float:
        if (number := self._number(column, cell, of)) < 0.0:
            raise self.wrong(column, cell, f"{what} of at least 0")
        return number

    def _number(self, name: str, cell: str, of: int = -1) -> float:
        """The number of a cell, in the unit of the study where it is of a column with one."""
        given = plain_number(cell)
        found = math.nan if given is None else scaled(given, self.table.sizes.get(of, 1.0))
        if not math.isfinite(found):
            empty = ", or an empty cell for a failed measurement" if name == VALUE else ""
            raise self.wrong(name, cell, f"a finite number{empty}")
        return found

    def wrong(self, name: str, cell: str, expected: str) -> InvalidInput:
        """An error that says what is wrong with a cell."""
        return self.refused(f"got {shown(cell)} in column {shown(name)}, expected {expected}")

    def refused(self, why: str) -> InvalidInput:
        """An error that says what is wrong with this row."""
        return InvalidInput(f"{self.table.path}: line {self.line}: {why}{NOTHING}")

    def _cell(self, index: int) -> str:
        return self.cells[index].strip()

    def text(self, name: str) -> str:
        """The cell of a column that is of the trial itself, empty where there is none."""
        return self._cell(self.table.others[name]) if name in self.table.others else ""


def _of_export(name: str) -> str:
    """Why a column of an exported table may be unknown, in a few words."""
    for prefix, table in (
        ("params_", "parameters"),
        ("environment_", "environment"),
        ("objective_", "objectives"),
        ("constraint_", "constraints"),
    ):
        if name.startswith(prefix):
            return f", and the study file has no {table}.{name.removeprefix(prefix)}"
    return ""


def _storable(time: datetime) -> datetime:
    """A local time that has one in UTC, in which storages keep it; else an error of Python's."""
    time.astimezone(UTC).astimezone()
    return time


def _unquoted(cell: str) -> str:
    """Without the `'` that `export` puts before what a spreadsheet takes for a formula."""
    return cell[1:] if cell[:1] == "'" and cell.lstrip("'").startswith(FORMULA) else cell

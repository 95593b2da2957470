"""Measurements from a table become trials of a study: the inverse of `surefoot export`."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from optuna.trial import FrozenTrial, TrialState, create_trial

from surefoot.integrations.optuna import CONSTRAINTS, ENVIRONMENT, STANDARD_ERROR, TIME, WORKER
from surefoot.tune.definition.environment import Variable
from surefoot.tune.definition.parameters import value_of, written
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.quantity import plain_number
from surefoot.tune.plain_text import shown, storable
from surefoot.tune.study.known_trials import new_rows
from surefoot.tune.study.opened_study import create_study
from surefoot.tune.study.storage import storage_errors
from surefoot.tune.study.tables import FORMULA, check_cells, read_table
from surefoot.tune.study.trial_attributes import FAILURE, IMPORTED, SECONDS
from surefoot.tune.study.trial_rows import add_finished
from surefoot.types import InvalidInput

VALUE, FAILED, STATE, DURATION = "value", "failure", "state", "seconds"
ERROR, WHO, WHEN = "sem", "worker", "time"
EXPECTED_TIME = "a time such as 2026-03-01 14:30:00, or in seconds since 1970"
STARTED = "start"  # of `export`: recognises its trial, and is not kept
IGNORED = ("", "number", "weight", STARTED, "datetime_complete")
IGNORED_PREFIXES = ("user_attrs_", "system_attrs_")  # of Optuna's `trials_dataframe`
OTHER_NAMES = {"datetime_start": WHEN, "duration": DURATION}  # of the same table
MEASURED, NOT_MEASURED = ("complete", ""), ("fail", "failed")
PAUSE = 5.0  # seconds between two messages
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
    the parameters, in a study
    with an environment also `environment_NAME` or like its variables, and `value`; `failure` is
    the reason of a row without a value, and `seconds` how long it took; `sem` is the standard error
    of the value, `worker` the name of the machine, `time` when it began. A constraint has a column
    `constraint_NAME` or of its name if it was measured. A cell of an inactive parameter is
    ignored, and a failure needs no environment. A row whose `state` is running, waiting, pruned or
    interrupted is left out. All rows are checked before the first is added. A
    row that is a trial of the study already, imported or measured, is not added again: one with the
    same parameters, environment and value, and the same `worker` and `time` (or `start`, of
    `export`) where both are given.

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
    rows = _Rows(study_file, Path(table))
    trials = rows.trials()
    added = add_trials(study_file, trials, rows.skipped, note=note)
    return replace(added, ignored=tuple(rows.ignored))


def add_trials(
    study_file: StudyFile,
    trials: Sequence[tuple[FrozenTrial, datetime | None]],
    skipped: int,
    outside: int = 0,
    *,
    note: Callable[[str], None],
) -> Imported:
    """Add finished trials to a study, but for those that it has; it is created if need be.

    Args:
        study_file: The study file.
        trials: Each trial, and when its measurement began, None where it is unknown.
        skipped: Trials that were left out as unfinished.
        outside: Trials that were left out for their parameters.
        note: Shows every few seconds how far it is.
    """
    opened, due = create_study(study_file), time.monotonic() + PAUSE
    with storage_errors(opened.location, "importing"), opened.lock():
        new = new_rows(trials, opened.read().trials)
        for count in add_finished(opened.study, opened.storage, new):
            if time.monotonic() >= due and count < len(new):
                note(f"imported {count:,} of {len(new):,} trials")
                due = time.monotonic() + PAUSE
    failed = sum(trial.state == TrialState.FAIL for trial in new)
    return Imported(len(new), failed, len(trials) - len(new), skipped, outside=outside)


class _Rows:
    """The rows of a table, as trials of a study."""

    def __init__(self, study_file: StudyFile, table: Path) -> None:
        self._study_file, self._table = study_file, table
        header, self._rows = read_table(table)
        self._header = [
            name if name in study_file.parameters else OTHER_NAMES.get(name, name)
            for name in header
        ]
        self._variables = study_file.scheme.variables
        self._parameters = {
            name: self._column(f"params_{name}", name) for name in study_file.parameters
        }
        self._environment = {
            name: self._column(f"environment_{name}", name) for name in self._variables
        }
        self._value = self._column(VALUE)
        self._constraints = {
            name: self._column(column, name)
            for name, column in _reported(study_file).items()
            if name in self._header or column in self._header
        }
        used = self._used()
        self._others = {name: index for index, name in enumerate(self._header) if index not in used}
        known = (FAILED, STATE, DURATION, ERROR, WHO, WHEN, *IGNORED)
        self.ignored: list[str] = []
        for index, name in enumerate(self._header):
            if index not in used and name.startswith(IGNORED_PREFIXES):
                self.ignored.append(name)
                continue
            if index not in used and name in self._header[:index]:
                raise InvalidInput(f"{table}: the column {shown(name)} is there twice")
            prefixed = {**self._environment, **self._parameters}.get(name)
            if index not in used and name not in known and prefixed is not None:
                raise InvalidInput(
                    f"{self._table}: got the columns {shown(self._header[prefixed])} and "
                    f"{shown(name)}, expected one of the two"
                )
            if index not in used and name not in known:
                raise InvalidInput(
                    f"{table}: unknown column {shown(name)}{_of_export(name)}, expected the "
                    f"parameters ({', '.join(study_file.parameters)}), {VALUE}, {STATE}, {FAILED}, "
                    f"{DURATION}, {ERROR}, {WHO} and {WHEN}"
                )
        self.skipped = 0

    def trials(self) -> list[tuple[FrozenTrial, datetime | None]]:
        """The trials of all finished rows, and when each began, None where it is unknown.

        Raises:
            InvalidInput: If a row is wrong.
        """
        seen: dict[str, int] = {}
        trials = []
        for line, row in self._rows:
            check_cells(self._table, self._header, line, row, "; nothing was imported")
            if len(row) < len(self._header):
                raise InvalidInput(
                    f"{self._table}: line {line}: got {len(row)} cells, expected "
                    f"{len(self._header)} as in the first line: the row is not complete; nothing "
                    "was imported"
                )
            if self._is_unfinished(line, row):
                self.skipped += 1
                continue
            digest = hashlib.sha256(repr((self._header, row)).encode()).hexdigest()[:16]
            seen[digest] = seen.get(digest, 0) + 1  # equal rows are measurements of their own
            trial = self._trial(line, row, f"{digest}-{seen[digest]}")
            trials.append((trial, self._begun(line, row, trial)))
        return trials

    def _is_unfinished(self, line: int, row: list[str]) -> bool:
        """Whether a row is of a trial without an end; `InvalidInput` for a wrong state."""
        given = self._text(row, STATE)
        state, value = given.lower().removeprefix("trialstate."), _cell(row, self._value)
        if state in UNFINISHED:
            return True
        if state not in (*MEASURED, *NOT_MEASURED):
            known = ", ".join(("complete", "fail", *UNFINISHED))
            raise self._wrong(line, STATE, given, f"one of {known}")
        if state and (state in MEASURED) is not bool(value):
            expected = "a value" if state in MEASURED else "no value"
            raise self._wrong(line, STATE, given, f"{expected} beside it, got {shown(value)}")
        return False

    def _trial(self, line: int, row: list[str], identity: str) -> FrozenTrial:
        space = self._study_file.space
        params: dict[str, Any] = {}
        for name in space.order:
            if space.is_active(name, params):
                params[name] = self._parameter(line, name, row)
        if violated := space.violated(params):
            values = ", ".join(f"{name} = {shown(one)}" for name, one in params.items())
            raise InvalidInput(
                f"{self._table}: line {line}: got {values}, which violates {shown(violated[0])}, "
                "expected configurations that satisfy every rule of [[require]]; nothing was "
                "imported"
            )
        attributes: dict[str, Any] = {IMPORTED: identity}
        under = {name: _cell(row, index) for name, index in self._environment.items()}
        if any(under.values()) or (under and _cell(row, self._value)):  # a failure may have none
            attributes[ENVIRONMENT] = {
                name: self._observed(line, name, cell, self._variables[name])
                for name, cell in under.items()
            }
        if seconds := self._text(row, DURATION):
            attributes[SECONDS] = self._seconds(line, seconds)
            if attributes[SECONDS] < 0.0:
                raise self._wrong(line, DURATION, seconds, "a duration of at least 0")
        if error := self._text(row, ERROR):
            attributes[STANDARD_ERROR] = self._number(line, ERROR, error)
            if attributes[STANDARD_ERROR] < 0.0:
                raise self._wrong(line, ERROR, error, "a standard error of at least 0")
        if worker := self._text(row, WHO):
            attributes[WORKER] = storable(_unquoted(worker))
        if not self._text(row, WHEN):
            attributes[TIME] = None  # when it was imported says nothing about it
        limited = {name: _cell(row, index) for name, index in self._constraints.items()}
        if any(limited.values()):
            attributes[CONSTRAINTS] = {
                name: self._number(line, name, cell) for name, cell in limited.items() if cell
            }
        return self._at(line, row, self._finished(line, row, params, attributes))

    def _finished(
        self, line: int, row: list[str], params: dict[str, Any], attributes: dict[str, Any]
    ) -> FrozenTrial:
        every = self._study_file.distributions
        distributions = {name: every[name] for name in params}
        cell = _cell(row, self._value)
        if cell:
            value = self._number(line, VALUE, cell)
            if value <= 0.0 and self._study_file.objective.log:
                raise self._wrong(line, VALUE, cell, "a number above 0, since log = true")
            return create_trial(
                params=params, distributions=distributions, value=value, user_attrs=attributes
            )
        reason = storable(_unquoted(self._text(row, FAILED)))
        attributes[FAILURE] = reason or "no value in the table"
        return create_trial(
            state=TrialState.FAIL,
            params=params,
            distributions=distributions,
            user_attrs=attributes,
        )

    def _at(self, line: int, row: list[str], trial: FrozenTrial) -> FrozenTrial:
        """The trial with the time of the row, where it has one."""
        if text := self._text(row, WHEN):
            trial.datetime_start = begun = self._clock(line, WHEN, text)
            try:
                lasted = timedelta(seconds=trial.user_attrs.get(SECONDS, 0.0))
                trial.datetime_complete = begun + lasted
            except OverflowError:
                expected = "a duration that ends before the year 10000"
                raise self._wrong(line, DURATION, self._text(row, DURATION), expected) from None
        return trial

    def _begun(self, line: int, row: list[str], trial: FrozenTrial) -> datetime | None:
        if self._text(row, WHEN):
            return trial.datetime_start
        started = self._text(row, STARTED)
        return self._clock(line, STARTED, started) if started else None

    def _clock(self, line: int, column: str, text: str) -> datetime:
        """A time as ISO 8601 writes it with `-`, or in seconds since 1970."""
        seconds = plain_number(text)
        if (seconds is None and not _CALENDAR.match(text)) or _DAY.fullmatch(text):
            raise self._wrong(line, column, text, EXPECTED_TIME)
        try:
            if seconds is not None:
                return datetime.fromtimestamp(seconds)
            given = datetime.fromisoformat(text)
            return given if given.tzinfo is None else given.astimezone().replace(tzinfo=None)
        except (ValueError, OverflowError, OSError):
            raise self._wrong(line, column, text, EXPECTED_TIME) from None

    def _parameter(self, line: int, name: str, row: list[str]) -> Any:
        cell = _unquoted(_cell(row, self._parameters[name]))
        parameter = self._study_file.space.named.parameters[name]
        value = value_of(cell, parameter)
        if value is None:
            raise self._wrong(line, name, cell, written(parameter))
        return value

    def _observed(self, line: int, name: str, cell: str, variable: Variable) -> float:
        """The value of a variable of the environment, as a run would record it."""
        value = self._number(line, name, cell)
        wanted = variable.mismatch(value)
        if wanted is not None:
            raise self._wrong(line, name, cell, wanted)
        return variable.nearest(value)

    def _seconds(self, line: int, cell: str) -> float:
        """A duration in seconds, or as pandas writes one: `0 days 00:01:02.5`."""
        parts = _DURATION.fullmatch(cell)
        if parts is None:
            return self._number(line, DURATION, cell)
        days, hours, minutes, seconds = (float(part or 0) for part in parts.groups())
        return 86400.0 * days + 3600.0 * hours + 60.0 * minutes + seconds

    def _number(self, line: int, name: str, cell: str) -> float:
        found = plain_number(cell)
        if found is None or not math.isfinite(found):
            empty = ", or an empty cell for a failed measurement" if name == VALUE else ""
            raise self._wrong(line, name, cell, f"a finite number{empty}")
        return found

    def _wrong(self, line: int, name: str, cell: str, expected: str) -> InvalidInput:
        return InvalidInput(
            f"{self._table}: line {line}: got {shown(cell)} in column {shown(name)}, expected "
            f"{expected}; nothing was imported"
        )

    def _column(self, *names: str) -> int:
        for name in names:
            if name in self._header:
                return self._header.index(name)
        raise InvalidInput(
            f"{self._table}: no column {names[-1]!r}, expected one beside "
            f"{', '.join(map(shown, self._header))}"
        )

    def _used(self) -> dict[int, str]:
        """Contents of the columns of the study, by position; each holds one thing."""
        used = {self._value: "the measurements"}
        for kind, prefix, columns in (
            ("parameter", "params", self._parameters),
            ("variable", "environment", self._environment),
            ("constraint", "constraint", self._constraints),
        ):
            for name, index in columns.items():
                if index in used:
                    raise InvalidInput(
                        f"{self._table}: the column {shown(self._header[index])} would be both "
                        f"{used[index]} and the {kind} {shown(name)}, expected a column for each: "
                        f"name that of the {kind} {prefix}_{name}"
                    )
                used[index] = f"the {kind} {shown(name)}"
        return used

    def _text(self, row: Sequence[str], name: str) -> str:
        """The cell of a column that is of the trial itself, empty where there is none."""
        return _cell(row, self._others[name]) if name in self._others else ""


def _reported(study_file: StudyFile) -> dict[str, str]:
    """Names that `export` gives the columns of what is measured beside the value."""
    further = study_file.scheme.further
    return {
        name: f"{'objective' if name in further else 'constraint'}_{name}"
        for name in study_file.reported
    }


def _cell(row: Sequence[str], index: int) -> str:
    return row[index].strip() if index < len(row) else ""


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


def _unquoted(cell: str) -> str:
    """Without the `'` that `export` puts before what a spreadsheet takes for a formula."""
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(FORMULA) else cell

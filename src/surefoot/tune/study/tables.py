"""Tables in files: the trials of a study, written; a column of measurements, read."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray
from optuna.trial import FrozenTrial, TrialState, create_trial

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.quantity import plain_number
from surefoot.tune.output_file import check_output, output_file
from surefoot.tune.plain_text import escaped, storable
from surefoot.tune.study.opened_study import OpenedStudy
from surefoot.tune.study.parameter_units import recorded_parameter_units
from surefoot.tune.study.state import StudyState
from surefoot.tune.study.trial_attributes import is_interrupted, record_of, trial_start
from surefoot.types import InvalidInput, NotReady

STANDARD_OUTPUT = "-"
_PARQUET = "a Parquet file"
_MAGIC = {
    b"PAR1": _PARQUET,
    b"PK\x03\x04": "a spreadsheet or an archive",
    b"\x1f\x8b": "a compressed file",
    b"\xff\xfe": "a text in UTF-16",
    b"\xfe\xff": "a text in UTF-16",
    b"{": "a JSON document",
    b"[": "a JSON or TOML document",
    b"<": "an HTML or XML document",
}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what makes a spreadsheet take a cell for a formula


def check_export(output: Path) -> None:
    """Raise `InvalidInput` for a file that trials cannot be exported to."""
    if str(output) == STANDARD_OUTPUT:
        return
    check_output(output, (".csv", ".parquet"))
    if output.suffix.lower() == ".parquet":
        _data_frame()


def export(opened: OpenedStudy, output: Path) -> int:
    """Write all trials to a .csv or .parquet file, one row each, in order of their numbers.

    The columns are number, state, `params_NAME` for each parameter, `environment_NAME` for each
    variable of the environment, value, `objective_NAME` for each further objective,
    `constraint_NAME` for each constraint, weight (1: full weight, near 0: treated as an outlier),
    sem (standard error of the value), `sem_NAME` (of a further objective or a constraint), worker
    (who or what measured it), failure, start (local time), seconds, and `unit_COLUMN` for each
    column of which the unit is known. The file appears complete or not at all.

    Args:
        opened: The study, as `open_study` gives it.
        output: The file to write, or `-` for CSV on standard output. Parquet needs pandas and
            pyarrow (`surefoot[parquet]`).

    Returns:
        The number of trials.

    Raises:
        InvalidInput: If the file has another ending, is in no folder, or needs missing packages.
        StorageFailed: If the storage cannot be read.
        WriteFailed: If the file cannot be written.
    """
    check_export(output)
    rows, columns = trial_table(opened.state())
    if str(output) == STANDARD_OUTPUT:
        _write_rows(rows, columns, sys.stdout)
        return len(rows)
    with output_file(output) as partial:
        if output.suffix.lower() == ".csv":
            _write_csv(rows, columns, partial)
        else:
            _write_parquet(rows, columns, partial)
    return len(rows)


def trial_table(state: StudyState) -> tuple[list[dict[str, Any]], list[str]]:
    """A row for each trial, with None for missing values, and the names of the columns."""
    study_file = state.study_file
    try:
        weights = dict(zip(state.belief.trials, state.belief.weights.tolist(), strict=True))
    except NotReady:
        weights = {}
    parameters, units, of = list(study_file.parameters), study_file.units, reported(study_file)
    variables = list(study_file.scheme.variables)
    of_parameters = {**recorded_parameter_units(state.attributes), **units.parameters}

    def row(trial: FrozenTrial) -> dict[str, Any]:
        known = record_of(trial)
        environment = known["environment"] or {}
        others, errors = known["constraints"] or {}, known["sems"] or {}
        return {
            "number": trial.number,
            "state": "interrupted" if is_interrupted(trial) else trial.state.name.lower(),
            **{f"params_{name}": trial.params.get(name) for name in parameters},
            **{f"environment_{name}": environment.get(name) for name in variables},
            "value": trial.value if trial.state == TrialState.COMPLETE else None,
            **{column: others.get(name) for name, column in of.items()},
            "weight": weights.get(trial.number),
            "sem": known["sem"],
            **{f"sem_{name}": errors.get(name) for name in study_file.reported},
            **{name: known[name] for name in ("worker", "failure")},
            "start": trial_start(trial),
            "seconds": known["seconds"],
            **({"unit_value": units.value} if units.value else {}),
            **{f"unit_params_{n}": one for n, one in of_parameters.items() if n in parameters},
            **{f"unit_{of[n]}": one for n, one in units.reported.items() if n in of},
        }

    return [row(trial) for trial in state.trials], list(row(create_trial(state=TrialState.WAITING)))


def reported(study_file: StudyFile) -> dict[str, str]:
    """Names of the columns of what is measured beside the value, by name."""
    further = study_file.scheme.further
    return {
        name: f"{'objective' if name in further else 'constraint'}_{name}"
        for name in study_file.reported
    }


def _write_csv(rows: list[dict[str, Any]], columns: Sequence[str], path: Path) -> None:
    # Not by pandas: it would be needed for every export, and turns integers beside missing values
    # into floats.
    with path.open("w", newline="", encoding="utf-8") as file:
        _write_rows(rows, columns, file, "\r\n")


def _write_rows(
    rows: list[dict[str, Any]], columns: Sequence[str], file: TextIO, ending: str = "\n"
) -> None:
    writer = csv.DictWriter(file, fieldnames=columns, lineterminator=ending)
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    """A value that a spreadsheet takes for text if it is text, never for a formula."""
    if not isinstance(value, str):
        return value
    formula = value.lstrip("'").startswith(FORMULA) and plain_number(value) is None
    return escaped(f"'{value}" if formula else value)


def _write_parquet(rows: list[dict[str, Any]], columns: Sequence[str], path: Path) -> None:
    rows = [
        {name: storable(one) if isinstance(one, str) else one for name, one in row.items()}
        for row in rows
    ]
    frame = _data_frame()(rows, columns=columns)
    for name in columns:
        # A column of a Parquet file has one type; the choices of a parameter need not.
        kinds = {type(row[name]) for row in rows if row[name] is not None}
        if len(kinds) > 1 and not kinds <= {int, float}:
            frame[name] = [None if row[name] is None else str(row[name]) for row in rows]
    frame.to_parquet(path, index=False)


def _data_frame() -> Any:
    """`pandas.DataFrame`, if it can write Parquet."""
    try:
        import pandas
        import pyarrow  # noqa: F401
    except ImportError:
        raise InvalidInput(
            "writing .parquet needs pandas and pyarrow: pip install pandas pyarrow (or export to "
            ".csv)"
        ) from None
    return pandas.DataFrame


@dataclass(frozen=True, eq=False)
class Column:
    """The numbers (n,) of one column of a CSV file, of which `skipped` cells were empty."""

    name: str
    values: NDArray[np.float64]
    skipped: int


def read_column(path: Path, column: str | None = None) -> Column:
    """Read the numbers in one column of a CSV file; empty cells are skipped.

    A file whose first line is all numbers has no header. A row of more cells than the first line,
    as decimal commas give, is refused rather than read in part.

    Args:
        path: The file.
        column: Name of the column, or its position from 1; by default `y`, else `value`, else the
            only column with nothing but numbers.

    Returns:
        The column.

    Raises:
        InvalidInput: If the file cannot be read, a row has more cells than the first line, or there
            is no such column of finite numbers.
    """
    header, rows = read_table(path)
    for line, row in rows:
        check_cells(path, header, line, row)
    index = _choose(path, header, rows, column)
    values, skipped = [], 0
    for line, row in rows:
        cell = row[index].strip() if index < len(row) else ""
        if not cell:
            skipped += 1
            continue
        number = plain_number(cell)
        if number is None or not np.isfinite(number):
            raise InvalidInput(
                f"{path}: line {line}: got {cell!r} in column {header[index]!r}, expected a finite "
                "number or an empty cell"
            )
        values.append(number)
    return Column(header[index], np.array(values, dtype=np.float64), skipped)


def varying_parameters(path: Path) -> list[str]:
    """Columns of an exported table that show that its rows are of different configurations."""
    header, rows = read_table(path)
    columns = [(i, name) for i, name in enumerate(header) if name.startswith("params_")]
    return [name for i, name in columns if len({row[i] for _, row in rows if i < len(row)}) > 1]


def several_configurations(varying: Sequence[str]) -> str:
    """Message that a diagnosis is not of the noise alone."""
    return (
        f"the rows are of different configurations ({', '.join(varying)}), whose differences count "
        "as noise here; the report of a study diagnoses the residuals of its model"
    )


def read_table(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Names of the columns of a CSV or Parquet file, and each row with its line number."""
    kind = _kind(path)
    if kind == _PARQUET:
        return _read_parquet(path)
    if kind:
        raise InvalidInput(
            f"{path}: {kind}, expected a CSV file in UTF-8: save or unpack it as one"
        )
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, row) for row in reader if row]
    except FileNotFoundError:
        raise InvalidInput(f"{path}: no such file, expected an existing one") from None
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path}: not UTF-8 at byte {error.start}, expected a CSV file: save it as UTF-8"
        ) from None
    except csv.Error as error:
        raise InvalidInput(f"{path}: not a CSV file in UTF-8: {error}") from None
    if not rows:
        raise InvalidInput(f"{path}: the file is empty, expected a CSV file with measurements")
    first = rows[0][1]
    if len(first) == 1 and (other := next((one for one in ";\t" if one in first[0]), "")):
        raise InvalidInput(
            f"{path}: the cells are separated by {other!r}, expected commas between them, and "
            "decimal points in numbers"
        )
    if all(plain_number(cell) is not None for cell in first):
        return [str(position) for position in range(1, len(first) + 1)], rows
    return [name.strip() for name in first], rows[1:]


def _kind(path: Path) -> str:
    """Kind of a file that is no table, by its first bytes; empty for any other."""
    try:
        with path.open("rb") as file:
            begin = file.read(64).lstrip()
    except OSError:
        return ""
    return next((kind for magic, kind in _MAGIC.items() if begin.startswith(magic)), "")


def _read_parquet(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_table
    except ImportError:
        raise InvalidInput(
            f"{path}: reading Parquet needs pyarrow: pip install pyarrow (or write it as .csv)"
        ) from None
    try:
        table = read_table(path)
    except (ArrowException, OSError) as error:
        raise InvalidInput(f"{path}: cannot be read as Parquet: {escaped(str(error))}") from None
    rows = zip(*[column.to_pylist() for column in table.columns], strict=True)
    cells = ([_text(one) for one in row] for row in rows)
    return list(map(str, table.column_names)), list(enumerate(cells, 1))


def _text(value: Any) -> str:
    """The text of a cell of a Parquet file, as it is in a CSV file."""
    if isinstance(value, timedelta):
        return repr(value.total_seconds())
    return "" if value is None else str(value)


def check_cells(path: Path, header: list[str], line: int, row: list[str], then: str = "") -> None:
    """Raise `InvalidInput` for a row of more cells than the header, but for empty ones."""
    if any(cell.strip() for cell in row[len(header) :]):
        raise InvalidInput(
            f"{path}: line {line}: got {len(row)} cells, expected {len(header)} as in the first "
            f"line: write a decimal point in numbers, and commas only between cells{then}"
        )


def _choose(
    path: Path, header: list[str], rows: list[tuple[int, list[str]]], column: str | None
) -> int:
    if column is not None:
        if column in header:
            return header.index(column)
        if column.isdigit() and 1 <= int(column) <= len(header):
            return int(column) - 1
        raise InvalidInput(f"{path}: no column {column!r}, expected one of {', '.join(header)}")
    for usual in ("y", "value"):
        if usual in header:
            return header.index(usual)
    numeric = [index for index in range(len(header)) if _is_numeric(index, rows)]
    if len(numeric) == 1:
        name = header[numeric[0]]
        if plain_number(name) is not None and any(plain_number(other) is None for other in header):
            raise InvalidInput(
                f"{path}: the first line has the number {name} beside text, expected names of "
                f"columns or numbers only: add names, or pass --column {name} if it is a name"
            )
        return numeric[0]
    found = ", ".join(header[index] for index in numeric)
    raise InvalidInput(
        f"{path}: several columns contain numbers ({found}), expected one: choose it with --column"
        if numeric
        else f"{path}: no column contains nothing but numbers (columns {', '.join(header)})"
    )


def _is_numeric(index: int, rows: list[tuple[int, list[str]]]) -> bool:
    cells = [row[index].strip() for _, row in rows if index < len(row)]
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(plain_number(cell) is not None for cell in filled)

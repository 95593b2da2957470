"""Measurements from a CSV file."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from surefoot.types import InvalidInput


@dataclass(frozen=True, eq=False)
class Measurements:
    """The numbers (n,) of one column; `skipped` of its cells were empty."""

    column: str
    values: NDArray[np.float64]
    skipped: int


def read_column(path: Path, column: str | None = None) -> Measurements:
    """One column of a CSV file, by name, or by position from 1.

    Without `column`: `y`, else `value`, else the only column that holds numbers throughout. A file
    whose first line is all numbers has no names. Empty cells are skipped. Raises `InvalidInput`.
    """
    header, rows = _read(path)
    index = _choose(path, header, rows, column)
    values, skipped = [], 0
    for line, row in rows:
        cell = row[index].strip() if index < len(row) else ""
        if not cell:
            skipped += 1
            continue
        number = _number(cell)
        if number is None or not np.isfinite(number):
            raise InvalidInput(
                f"{path}: line {line}: got {cell!r} in column {header[index]!r}, expected a finite "
                "number or an empty cell"
            )
        values.append(number)
    return Measurements(header[index], np.array(values, dtype=np.float64), skipped)


def _read(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Names of the columns, and each row with its line number."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, row) for row in reader if row]
    except FileNotFoundError:
        raise InvalidInput(f"{path}: no such file, expected a CSV file") from None
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{path}: not a CSV file in UTF-8: {error}") from None
    if not rows:
        raise InvalidInput(f"{path}: the file is empty, expected a CSV file with measurements")
    first = rows[0][1]
    if all(_number(cell) is not None for cell in first):
        return [str(position) for position in range(1, len(first) + 1)], rows
    return [name.strip() for name in first], rows[1:]


def _choose(
    path: Path, header: list[str], rows: list[tuple[int, list[str]]], column: str | None
) -> int:
    names = ", ".join(header)
    if column is not None:
        if column in header:
            return header.index(column)
        if column.isdigit() and 1 <= int(column) <= len(header):
            return int(column) - 1
        raise InvalidInput(f"{path}: no column {column!r}, expected one of {names}")
    for usual in ("y", "value"):
        if usual in header:
            return header.index(usual)
    numeric = [i for i in range(len(header)) if _is_numeric(i, rows)]
    if len(numeric) == 1:
        return numeric[0]
    found = ", ".join(header[i] for i in numeric)
    raise InvalidInput(
        f"{path}: several columns hold numbers ({found}), expected one: choose it with --column"
        if numeric
        else f"{path}: no column holds numbers throughout (columns {names})"
    )


def _is_numeric(index: int, rows: list[tuple[int, list[str]]]) -> bool:
    cells = [row[index].strip() for _, row in rows if index < len(row)]
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(_number(cell) is not None for cell in filled)


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None

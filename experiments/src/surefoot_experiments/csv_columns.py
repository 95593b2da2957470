"""Numbers from CSV files, with errors that name the file, the line and what was expected."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surefoot.types import InvalidInput

_LARGEST = 1e30  # beyond, squares and their sums run out of numbers
_LEAST_ROWS = 100


@dataclass(frozen=True, eq=False)
class Columns:
    """The numbers of a file and the names of its columns, which are 1, 2, ... without a header."""

    names: tuple[str, ...]
    numbers: np.ndarray  # (R, C)


def read_columns(
    path: Path, *, header: bool = False, skip: int = 0, positive: bool = False
) -> Columns:
    """All rows of a file, without the first `skip` columns, which may hold anything.

    Raises `InvalidInput` for a missing or unreadable file, a row of another length, and an entry
    that is not a finite number of sensible size, or not a positive one where `positive`.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [(number, row) for number, row in enumerate(csv.reader(file), 1) if row]
    except FileNotFoundError:
        raise InvalidInput(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{path}: cannot be read as CSV: {error}") from None
    kind = "a positive number" if positive else "a finite number"
    expected = f"{kind} of at most {_LARGEST:g} in size"
    if not lines:
        raise InvalidInput(f"{path}: the file is empty, expected rows of {expected} each")
    width = len(lines[0][1])
    names = lines[0][1][skip:] if header else [str(place + 1) for place in range(width - skip)]
    numbers = []
    for line, row in lines[1:] if header else lines:
        if len(row) != width:
            raise InvalidInput(
                f"{path}, line {line}: got {len(row)} columns, expected {width} as in the first"
            )
        for name, text in zip(names, row[skip:], strict=True):
            if not _is_number(text, positive):
                raise InvalidInput(
                    f"{path}, line {line}, column {name!r}: got {text!r}, expected {expected}"
                )
        numbers.append([float(text) for text in row[skip:]])
    return Columns(tuple(names), np.array(numbers, dtype=float).reshape(len(numbers), len(names)))


def require_spread(path: Path, columns: Columns) -> None:
    """`InvalidInput` unless rows are 100 and more than columns, and every column changes.

    Otherwise the columns have no correlation matrix that carries their means, or the file is not
    whole.
    """
    rows, number = columns.numbers.shape
    if number < 2 or rows < max(_LEAST_ROWS, number + 1):
        raise InvalidInput(
            f"{path}: got {rows} rows of {number} columns, expected at least 2 columns, and at "
            f"least {max(_LEAST_ROWS, number + 1)} rows of so many: is it whole?"
        )
    for name, column in zip(columns.names, columns.numbers.T, strict=True):
        if not column.std() > 0:
            raise InvalidInput(f"{path}, column {name!r}: it never changes, expected it to")


def _is_number(text: str, positive: bool) -> bool:
    try:
        value = float(text)
    except ValueError:
        return False
    return abs(value) <= _LARGEST and (value > 0 or not positive)

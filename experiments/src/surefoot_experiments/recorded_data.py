"""Recorded data that problems resample, and CSV files read with errors that name the line."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from surefoot import InvalidInput

_LARGEST = 1e30  # beyond, sums of squares overflow
_LEAST_ROWS = 100


@dataclass(frozen=True, eq=False)
class Data:
    """A data set.

    Args:
        source: Where it is from, in a sentence.
        arrays: Its arrays by name.
        line: Statistical tests of it in a line, for the console.
        notes: The same in Markdown, for the page.
    """

    source: str
    arrays: Mapping[str, np.ndarray]
    line: str = ""
    notes: str = ""

    @property
    def digest(self) -> str:
        """A fingerprint of the arrays."""
        digest = hashlib.sha256()
        for name, array in sorted(self.arrays.items()):
            digest.update(f"{name}{array.shape}{array.dtype}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]


def read_lines(path: Path) -> list[tuple[int, list[str]]]:
    """The cells of every line that is not empty, with its number in the file.

    Raises:
        InvalidInput: The file is missing, is not text, is empty, or has lines of other lengths.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [(number, row) for number, row in enumerate(csv.reader(file), 1) if row]
    except FileNotFoundError:
        raise InvalidInput(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{path}: cannot be read as CSV: {error}") from None
    if not lines:
        raise InvalidInput(f"{path}: the file is empty")
    for number, row in lines:
        if len(row) != len(lines[0][1]):
            raise InvalidInput(
                f"{path}, line {number}: got {len(row)} columns, expected {len(lines[0][1])} as "
                "in the first"
            )
    return lines


def read_columns(
    path: Path, *, header: bool = False, skip: int = 0, positive: bool = False
) -> pd.DataFrame:
    """All numbers of a file.

    Args:
        path: The file.
        header: Whether the first line has the names of the columns; otherwise these are 1, 2, ...
        skip: Number of columns to leave out, from the left.
        positive: Whether numbers must be positive.

    Returns:
        The numbers, of shape (R, C).

    Raises:
        InvalidInput: The file cannot be read, or an entry is no finite number of sensible size.
    """
    lines = read_lines(path)
    width = len(lines[0][1])
    names = lines[0][1][skip:] if header else [str(index + 1) for index in range(width - skip)]
    body = lines[1:] if header else lines
    texts = pd.DataFrame([row[skip:] for _, row in body], columns=names, dtype=str)
    numbers = texts.apply(pd.to_numeric, errors="coerce").astype(float)
    valid = (numbers.abs() <= _LARGEST) & ((numbers > 0) | (not positive))
    wrong = np.argwhere(~valid.to_numpy())
    if len(wrong):
        row, column = wrong[0]
        kind = "a positive number" if positive else "a finite number"
        raise InvalidInput(
            f"{path}, line {body[row][0]}, column {names[column]!r}: got "
            f"{texts.iat[row, column]!r}, expected {kind} of at most {_LARGEST:g} in size"
        )
    return numbers


def require_spread(path: Path, numbers: pd.DataFrame) -> None:
    """`InvalidInput` unless there are enough rows, and no column is constant.

    There must be at least 100 rows and more rows than columns: otherwise the correlation matrix of
    the columns does not carry their means, or the file is incomplete.
    """
    rows, columns = numbers.shape
    least = max(_LEAST_ROWS, columns + 1)
    if columns < 2 or rows < least:
        raise InvalidInput(
            f"{path}: got {rows} rows of {columns} columns, expected at least 2 columns, and at "
            f"least {least} rows: is it complete?"
        )
    for name, column in zip(numbers.columns, numbers.to_numpy().T, strict=True):
        if not column.std() > 0:
            raise InvalidInput(f"{path}, column {name!r}: it is constant, expected varying values")

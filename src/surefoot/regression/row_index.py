"""Rows of a matrix by their bytes, in few bytes a row."""

from __future__ import annotations

import numpy as np


class RowIndex:
    """Hash table of the first rows of a matrix, whose keys are the rows themselves.

    A dictionary of their bytes takes 180 bytes a row of five numbers, this one 12 to 24.

    Example:
        >>> rows, index = np.array([[0.0, 1.0], [2.0, 3.0]]), RowIndex()
        >>> index.follow(rows, 2)
        >>> index.find(rows, np.array([2.0, 3.0])), index.find(rows, np.array([3.0, 2.0]))
        (1, -1)
    """

    def __init__(self) -> None:
        self._number = 0
        self._slots = np.full(64, -1, dtype=np.int64)

    def follow(self, rows: np.ndarray, number: int) -> None:
        """Take in the rows that came since; all of them, if there are fewer than there were.

        Args:
            rows: The matrix (at least number, d).
            number: How many rows there are.
        """
        if number < self._number or 3 * number > 2 * len(self._slots):
            self._slots = np.full(max(64, _power(2 * number)), -1, dtype=np.int64)
            self._number = 0
        for row in range(self._number, number):
            self._slots[self._slot(rows, rows[row].tobytes())] = row
        self._number = number

    def find(self, rows: np.ndarray, row: np.ndarray) -> int:
        """Index of a row (d,), -1 if it is none of them."""
        return int(self._slots[self._slot(rows, row.tobytes())])

    def _slot(self, rows: np.ndarray, key: bytes) -> int:
        """The slot of a row, or the empty one where it would be."""
        mask = len(self._slots) - 1
        slot = hash(key) & mask
        while (known := int(self._slots[slot])) >= 0 and rows[known].tobytes() != key:
            slot = (slot + 1) & mask
        return slot


def _power(number: int) -> int:
    """The least power of two that is no smaller."""
    return 1 << max(number - 1, 0).bit_length()

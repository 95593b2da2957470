"""Blocks of arms, which bound the memory that a computation takes."""

from __future__ import annotations

_NUMBERS = 2**17  # at a time: larger arrays are slow to allocate, and leave the cache


def block_length(dimension: int) -> int:
    """Arms at a time, with so many features each."""
    return max(64, _NUMBERS // max(dimension, 1))

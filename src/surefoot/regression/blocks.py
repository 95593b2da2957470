"""Blocks of arms, which bound the memory that a computation takes."""

from __future__ import annotations

import torch

_NUMBERS = 2**17  # at a time: larger arrays are slow to allocate, and leave the cache
_NUMBERS_ELSEWHERE = 2**24  # which keeps a GPU busy, for 128 MB of its memory


def block_length(dimension: int, device: torch.device) -> int:
    """Arms at a time, with so many features each."""
    numbers = _NUMBERS if device.type == "cpu" else _NUMBERS_ELSEWHERE
    return max(64, numbers // max(dimension, 1))

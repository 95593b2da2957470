"""Recorded data that experiments resample, and where they come from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Data:
    """Arrays by name, a sentence about their source, and what tests say of them.

    `line` is for the console, and `notes` are Markdown for the page.
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

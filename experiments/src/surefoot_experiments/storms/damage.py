"""Random damage to the bytes of a file."""

from __future__ import annotations

import numpy as np

KINDS = ("bit", "byte", "cut", "removed", "repeated")


def damaged(content: bytes, random: np.random.Generator) -> tuple[str, bytes]:
    """Content with one kind of damage at a random place, and the name of that kind."""
    kind = KINDS[random.integers(len(KINDS))]
    changed, at = bytearray(content), int(random.integers(len(content)))
    length = int(random.integers(1, 40))
    match kind:
        case "bit":
            changed[at] ^= 1 << int(random.integers(8))
        case "byte":
            changed[at] = int(random.integers(256))
        case "cut":
            del changed[at:]
        case "removed":
            del changed[at : at + length]
        case "repeated":
            changed[at:at] = changed[at : at + length]
    return kind, bytes(changed)

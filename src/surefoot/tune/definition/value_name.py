"""`objective.value`: which of the printed numbers is the measurement."""

from __future__ import annotations

import re
from dataclasses import dataclass

VALUE = (
    "a key that stands before the number, such as 'p95', a path in JSON output, such as "
    "'results[0].mean', a column of printed cells, such as 'column:qps', or a pattern with "
    "one group, such as '/mean ([0-9.]+) ms/'"
)


@dataclass(frozen=True)
class ValueName:
    """A key, a path in JSON, a column, or a pattern.

    Args:
        text: As the study file has it.

    Example:
        >>> ValueName("/mean ([0-9.]+)/").pattern.groups
        1
    """

    text: str

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """The pattern between slashes, None for a key or a path.

        Raises:
            ValueError: If it is none, or has not one group; the message says which.
        """
        if not (len(self.text) > 2 and self.text.startswith("/") and self.text.endswith("/")):
            return None
        try:
            pattern = re.compile(self.text[1:-1], re.MULTILINE)
        except re.error as error:
            raise ValueError(f"not a pattern ({error})") from None
        if pattern.groups != 1:
            raise ValueError(f"a pattern with {pattern.groups} groups")
        return pattern

    @property
    def column(self) -> str | None:
        """The name of a column in printed cells, behind `column:`; None for anything else."""
        before, _, name = self.text.partition(":")
        return name.strip() if before == "column" and name.strip() else None


def wrong_value_name(text: str) -> str:
    """Why a text is no `ValueName`, in a few words; empty if it is one."""
    if not (text.strip() and text.isprintable() and len(text) <= 500):
        return "no printable text of at most 500 characters"
    try:
        _ = ValueName(text).pattern
    except ValueError as error:
        return str(error)
    return ""

"""Errors as they are shown to a person or a program: one line, and a code."""

from __future__ import annotations

from surefoot.tune.passwords import without_passwords
from surefoot.tune.plain_text import printable
from surefoot.types import InvalidInput, NotReady, SurefootError

STOPPED, INVALID, INTERRUPTED = 1, 2, 130


def error_line(error: SurefootError) -> str:
    """The message in one line, without passwords."""
    return printable(without_passwords(" ".join(str(error).split())))


def exit_code(error: SurefootError) -> int:
    """Whether the input was refused and nothing changed, or something stopped halfway."""
    return INVALID if isinstance(error, InvalidInput | NotReady) else STOPPED

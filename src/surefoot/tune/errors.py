"""Errors as they are shown to a person or a program: one line, and a code."""

from __future__ import annotations

from surefoot.tune.passwords import without_passwords
from surefoot.tune.plain_text import printable
from surefoot.types import InvalidInput, NotReady, SurefootError

LONGEST = 2000  # characters of a message
STOPPED, INVALID, INTERRUPTED = 1, 2, 130


def error_line(error: SurefootError) -> str:
    """The message in one line, without passwords; of a very long one the beginning and the end."""
    line = printable(without_passwords(" ".join(str(error).split())))
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"


def exit_code(error: SurefootError) -> int:
    """Whether the input was refused and nothing changed, or something stopped halfway."""
    return INVALID if isinstance(error, InvalidInput | NotReady) else STOPPED

"""Output to a terminal that was closed: the run that wrote to it goes on, or ends as it was told.

A write to such a terminal is an error, which comes before the SIGHUP of its closing or, under
`nohup` and in the background of a shell, without one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO, cast

from surefoot.tune.system import is_closed_terminal

_OUTPUTS = (1, 2)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a disk or a quota


def forget_closed_terminal() -> None:
    """Let standard output and standard error that lead to a closed terminal lead nowhere."""
    for descriptor in _OUTPUTS:
        if is_closed_terminal(descriptor):
            _lead_nowhere(descriptor)


def forget_full_output(error: OSError) -> str:
    """Let standard output lead nowhere if that is what could not be written; why, or empty.

    Args:
        error: The error of a write.
    """
    if error.errno not in _FULL or error.filename is not None:
        return ""
    _lead_nowhere(_OUTPUTS[0])
    return f"standard output cannot be written: {error.strerror}"


def _lead_nowhere(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


class StandardOutput:
    """The present `sys.stdout`, which goes nowhere once its terminal is closed.

    But for writing, everything is its own.
    """

    def write(self, text: str) -> int:
        """Write text."""
        self._tried(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        self._tried(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def _stream(self) -> TextIO:
        # Itself while Rich passes on what others print during a live display.
        return cast(TextIO, getattr(sys.stdout, "rich_proxied_file", sys.stdout))

    def _tried(self, call: Callable[..., object], *given: str) -> None:
        """Raise an error of writing unless the terminal is closed or a disk full: a run goes on.

        What is buffered is written nowhere.
        """
        try:
            call(*given)
        except OSError as error:
            if full := forget_full_output(error):
                with contextlib.suppress(OSError):
                    print(f"{full}; the run goes on without it", file=sys.stderr)
            elif error.errno == errno.EIO:
                forget_closed_terminal()
            else:
                raise

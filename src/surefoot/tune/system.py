"""Differences between operating systems: locks, births of processes, closed terminals.

Linux, macOS and Windows have a lock and know when a process began. Only the first two can measure:
the processes of a command are started and ended by a script of its own, `measuring/supervisor.py`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO, cast

from surefoot.types import SurefootError

fcntl: ModuleType | None = None
msvcrt: ModuleType | None = None
termios: ModuleType | None = None
with contextlib.suppress(ImportError):
    import fcntl
with contextlib.suppress(ImportError):
    import msvcrt
with contextlib.suppress(ImportError):
    import termios

_BEYOND = 2**30  # a byte that no locked file has: Windows lets nobody else read a locked one
PAUSE = 0.1  # seconds between looks at a lock, a process, or whether the run was told to stop
POLL = 0.3  # seconds between looks at the storage
PATIENCE = 15.0  # seconds of waiting without a message, or for what is told to end
ANSWER = 60.0  # seconds for another process or machine to answer


class NoProcesses(SurefootError):
    """This operating system has not what it takes to start and end the processes of a command."""


def check_processes() -> None:
    """Check that commands and functions can be measured here.

    Raises:
        NoProcesses: If they cannot.
    """
    if not hasattr(os, "fork"):
        raise NoProcesses(
            "measuring a command needs Linux or macOS, on Windows its subsystem for Linux (WSL); "
            "`surefoot ask` and `surefoot tell` work here, measured by other means"
        )


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process, until it is closed or the process ends.

    Args:
        descriptor: The file; on Windows its position is changed.

    Returns:
        Whether it is locked; false while another process has it.

    Raises:
        OSError: If the file system has no locks.
    """
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
    if msvcrt is None:
        raise OSError(errno.ENOLCK, "no locks on this operating system")
    os.lseek(descriptor, _BEYOND, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except PermissionError:
        return False
    return True


def lock(descriptor: int) -> None:
    """`try_lock`, and wait while another process has it.

    Raises:
        OSError: If the file system has no locks.
    """
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    while not try_lock(descriptor):
        time.sleep(PAUSE)


def boot() -> list[str]:
    """Identifies this boot of a Linux machine, and the name space of its process ids."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return [boot, os.readlink("/proc/self/ns/pid")]
    return ["", ""]


def born(pid: int) -> str | None:
    """When a process started, as the system has it; None if there is no such process.

    Process ids are reused, so that one alone does not identify a process.

    Args:
        pid: Its id.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None if Path("/proc/self/stat").exists() else _listed(pid)
    fields = stat.rpartition(")")[2].split()
    # Fields 3 and 22 of proc(5): a zombie has ended, though it is still listed.
    return None if fields[0] in "ZX" else fields[19]


def _listed(pid: int) -> str | None:
    """`born`, by the program that lists processes."""
    listing = ["ps", "-o", "lstart=", "-p", str(pid)]
    if os.name == "nt":
        began = f"(Get-Process -Id {pid:d}).StartTime.Ticks"
        listing = ["powershell", "-NoProfile", "-NonInteractive", "-Command", began]
    try:
        found = subprocess.run(listing, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"  # a process that may be there is not taken for one that has ended
    return found.stdout.strip() or None


def is_closed_terminal(descriptor: int) -> bool:
    """Whether an output leads to a terminal that was closed.

    Args:
        descriptor: The output.
    """
    if termios is None:
        return False
    try:
        termios.tcgetattr(descriptor)
    except termios.error as error:
        return bool(error.args[0] == errno.EIO)
    return False


_OUTPUTS = (1, 2)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a disk or a quota


def forget_closed_terminal() -> None:
    """Let standard output and standard error that lead to a closed terminal lead nowhere."""
    for descriptor in _OUTPUTS:
        if is_closed_terminal(descriptor):
            _lead_nowhere(descriptor)


def forget_full_output(error: OSError, *others: int) -> str:
    """Let standard output lead nowhere if that is what could not be written; why, or empty.

    Args:
        error: The error of a write.
        others: Numbers of further errors that are no more than that.
    """
    if error.errno not in (*_FULL, *others) or error.filename is not None:
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

    But for writing, everything is its own. A write to such a terminal is an error, which comes
    before the SIGHUP of its closing or, under `nohup` and in the background of a shell, without
    one: the run goes on, or ends as it was told.
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
        """Raise an error of writing unless the terminal or pipe is closed or a disk full.

        What is buffered is written nowhere.
        """
        try:
            call(*given)
        except OSError as error:
            if full := forget_full_output(error, errno.EPIPE):
                with contextlib.suppress(OSError):
                    print(f"{full}; the run goes on without it", file=sys.stderr)
            elif error.errno == errno.EIO:
                forget_closed_terminal()
            else:
                raise

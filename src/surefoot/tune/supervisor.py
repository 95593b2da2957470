"""Runs one program, and ends it with everything it started on request or when its owner dies.

A script, run by its path and with few imports, so that it starts in about ten milliseconds. Usage:
`supervisor.py LIFELINE PROGRAM ARGUMENT...`, where LIFELINE is a file descriptor, the reading end
of a pipe whose writing end only the owner holds. When the owner closes that end, or dies (also by
`kill -9`), the program's process group is terminated, killed two seconds later, and the supervisor
ends. When the program ends by itself, what it left running is killed too, and the supervisor ends
in the same way as the program did.
"""

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time

GRACE = 2.0  # seconds between asking a program to end and killing it
CANNOT_START = 127
PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    lifeline, arguments = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(lifeline, False)
    _become_subreaper()
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)  # only the lifeline ends the program
    program = _start(arguments)
    ended = False
    while True:
        status = _reap(program)
        if status is not None:
            break
        ready, _, _ = select.select([lifeline, wake], [], [])
        if wake in ready:
            os.read(wake, 512)
        if lifeline in ready and not os.read(lifeline, 1):
            ended = True
            _signal_group(program, signal.SIGTERM)
            status = _wait(program, GRACE)
            break
    _signal_group(program, signal.SIGKILL)
    if status is None:
        status = _wait(program, None)
    _kill_children()
    _exit_like(signal.SIGKILL if ended or status is None else status)


def _become_subreaper() -> None:
    """On Linux, become the parent of processes whose own parent ends, so that they are found."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _start(arguments: list[str]) -> int:
    program = os.fork()
    if program:
        return program
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals():
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        os.execvp(arguments[0], arguments)
    except OSError as error:
        os.write(2, f"{arguments[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(CANNOT_START)


def _reap(program: int) -> int | None:
    """Collect every child that has ended; the program's wait status if it is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == program:
            found = status


def _wait(program: int, seconds: float | None) -> int | None:
    deadline = None if seconds is None else time.monotonic() + seconds
    while deadline is None or time.monotonic() < deadline:
        status = _reap(program)
        if status is not None:
            return status
        time.sleep(0.01)
    return None


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _kill_children() -> None:
    """Kill the remaining children, also those outside the program's group, until none is left."""
    deadline = time.monotonic() + GRACE
    while time.monotonic() < deadline:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            for child in _children():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(child, signal.SIGKILL)
            time.sleep(0.002)


def _children() -> list[int]:
    """The supervisor's children, from /proc; none where there is no /proc."""
    me, found = os.getpid(), []
    with contextlib.suppress(FileNotFoundError):
        for entry in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as file:
                # The name, in parentheses, may contain anything; the parent is two fields on.
                if int(file.read().rpartition(b")")[2].split()[1]) == me:
                    found.append(int(entry))
    return found


def _exit_like(status: int) -> None:
    """Exit with the program's exit code, or by the signal that ended it."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        with contextlib.suppress(OSError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        time.sleep(1)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    main()

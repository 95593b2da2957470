"""Runs one program, and ends it with everything it started on request or when its owner dies.

A script, run by its path and with few imports, so that it starts in about ten milliseconds. Usage:
`supervisor.py DESCRIPTORS PROGRAM ARGUMENT...`, where DESCRIPTORS are the numbers, with commas
between them, of

- the lifeline: the reading end of a pipe whose writing end only the owner holds;
- the report: the writing end of a pipe, which gets a line `code N` (negative: a signal) when the
  program has ended, and a line `ended NAME<tab>NAME...` if other processes had to be ended;
- the reading ends of the program's standard output and standard error;
- lifeline and report of the run, if processes may be kept until it ends.

The owner writes `t` to the lifeline to terminate the program (its process group gets SIGTERM, and
SIGKILL two seconds later), and `k` to keep what the program has left running: from then on the
run's lifeline counts, and output is discarded. When the lifeline is closed, which happens at the
latest when its owner dies (also by `kill -9`), the program is terminated, then everything that it
has left running: SIGTERM, and SIGKILL five seconds later.

The supervisor is two processes, since a program may kill its own parent: a guardian takes over the
processes of an overseer that was killed, and ends them.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable

GRACE = 2.0  # seconds between asking the program to end and killing it
LEFT_GRACE = 5.0  # the same for processes that it has left running
SETTLE = 0.05  # seconds for these to end by themselves
CANNOT_START = 127
PR_SET_CHILD_SUBREAPER = 36


class Supervisor:
    """The program, the orders of its owner, and the processes that the program leaves."""

    def __init__(self, descriptors: list[int], arguments: list[str]) -> None:
        self.lifeline, self.report, stdout, stderr, *self.run = descriptors
        self.output = [stdout, stderr]
        wake, waker = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(waker, False)
        self.wake = wake
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.program = _start(arguments)
        _close_others({*descriptors, wake, waker})
        self.running = True  # the program
        self.kept = False
        self.empty = False  # no process is left

    def supervise(self) -> None:
        """Follow the owner's orders until the lifeline is closed or no kept process is left."""
        while True:
            self.reap()
            if self.kept and self.empty:
                return
            drained = self.output if self.kept else []
            ready, _, _ = select.select([self.lifeline, self.wake, *drained], [], [])
            if self.wake in ready:
                os.read(self.wake, 512)
            if self.kept:
                self.drain()
            if self.lifeline in ready:
                order = os.read(self.lifeline, 1)
                if order == b"t":
                    self.terminate()
                elif order == b"k":
                    self.lifeline, self.report = self.run
                    self.kept = True
                elif not order:
                    self.terminate()
                    self.end_left()
                    return

    def reap(self) -> None:
        """Collect every child that has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.empty = True
                return
            if pid == 0:
                self.empty = False
                return
            if pid == self.program:
                self.running = False
                _tell(self.report, f"code {os.waitstatus_to_exitcode(status)}")

    def terminate(self) -> None:
        """End the program's process group, if the program is still running."""
        self.reap()
        if not self.running:
            return
        _signal_group(self.program, signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while self.running and time.monotonic() < deadline:
            time.sleep(0.01)
            self.drain_if_kept()
            self.reap()
        _signal_group(self.program, signal.SIGKILL)
        while self.running:
            time.sleep(0.002)
            self.reap()

    def end_left(self) -> None:
        """End what the program has left running, also outside its process group."""

        def look() -> bool:
            self.reap()
            self.drain_if_kept()
            return self.empty and (_has_proc() or not _group_exists(self.program))

        end_all(look, self.program, self.report)

    def drain_if_kept(self) -> None:
        """Discard output where the owner no longer reads it."""
        if self.kept:
            self.drain()

    def drain(self) -> None:
        """Discard what kept processes have printed: with a full pipe they would hang."""
        for descriptor in list(self.output):
            with contextlib.suppress(BlockingIOError):
                if not os.read(descriptor, 1 << 20):
                    self.output.remove(descriptor)


def end_all(look: Callable[[], bool], group: int, report: int) -> None:
    """End this process's descendants, and a process group, and report their names.

    SIGTERM goes to the uppermost processes only: a server ends its own children in order, and may
    take one of them that ends unasked for a crash.

    Args:
        look: Collects children that have ended; returns whether nothing is left.
        group: The process group, 0 for none.
        report: Where the names are reported.
    """
    names: dict[int, str] = {}
    asked: set[int] = set()
    start = time.monotonic()
    while (waited := time.monotonic() - start) < LEFT_GRACE + GRACE:
        if look():
            break
        if waited >= SETTLE:
            children, descendants = _family()
            new = children if names else descendants  # a server may go on starting some
            names.update({pid: name for pid, name in descendants.items() if pid in new})
            if waited >= LEFT_GRACE:
                _signal_group(group, signal.SIGKILL)
                for pid in descendants:
                    _signal(pid, signal.SIGKILL)
            elif _has_proc():
                for pid in children - asked:
                    _signal(pid, signal.SIGTERM)
                asked |= children
            elif not asked:
                _signal_group(group, signal.SIGTERM)
                asked.add(group)
        time.sleep(0.005)
    if names:
        _tell(report, "ended " + "\t".join(names.values()))


def main() -> None:
    descriptors = [int(number) for number in sys.argv[1].split(",")]
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)  # only the lifeline ends the program
    _become_subreaper()
    overseer = os.fork()
    if overseer:
        _guard(overseer, descriptors[1])
    else:
        _become_subreaper()
        Supervisor(descriptors, sys.argv[2:]).supervise()
    os._exit(0)


def _guard(overseer: int, report: int) -> None:
    """Wait for the overseer; if it was killed, end what it has left."""
    _close_others({report})
    _, status = os.waitpid(overseer, 0)
    if os.WIFSIGNALED(status):
        _tell(report, f"code {os.waitstatus_to_exitcode(status)}")
        end_all(_all_collected, 0, report)


def _all_collected() -> bool:
    """Collect every child that has ended; whether none is left."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return False
    return True


def _tell(report: int, line: str) -> None:
    """Report to the owner, if it still exists."""
    with contextlib.suppress(OSError):
        os.write(report, line.encode("utf-8", "replace") + b"\n")


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
        os.write(2, f"{arguments[0]}: {error.strerror}\n".encode("utf-8", "replace"))
    finally:
        os._exit(CANNOT_START)


def _close_others(own: set[int]) -> None:
    """Close what is the program's, so that its pipes end when the program closes them."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (1, 2):
        os.dup2(null, standard)
    for name in os.listdir("/dev/fd"):
        if int(name) > 2 and int(name) not in own:
            with contextlib.suppress(OSError):
                os.close(int(name))


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _signal_group(group: int, number: int) -> None:
    if not group:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _has_proc() -> bool:
    return os.path.exists("/proc/self/stat")


def _family() -> tuple[set[int], dict[int, str]]:
    """The supervisor's children, and the names of all its descendants, from /proc."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    with contextlib.suppress(FileNotFoundError):
        for entry in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as file:
                # The name, in parentheses, may contain anything; state and parent follow.
                head, _, rest = file.read().rpartition(b")")
                state, parent = rest.split()[:2]
                if state not in b"ZX":
                    parents[int(entry)] = int(parent)
                    name = head.partition(b"(")[2].decode("utf-8", "replace")
                    names[int(entry)] = "".join(c if c.isprintable() else "?" for c in name)
    children = {pid for pid, parent in parents.items() if parent == os.getpid()}
    found, new = set(children), set(children)
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - found
        found |= new
    return children, {pid: names[pid] for pid in sorted(found, key=lambda one: one not in children)}


if __name__ == "__main__":
    main()

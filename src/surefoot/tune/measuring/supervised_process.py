"""A subprocess that cannot outlive its owner, and whose output is kept bounded."""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from surefoot.tune.plain_text import listed
from surefoot.tune.stopping import Stop
from surefoot.tune.system import PATIENCE, PAUSE

SUPERVISOR = Path(__file__).with_name("supervisor.py")
CHUNK = 65536
MOST = 1 << 24  # bytes of standard output in which the measurement is searched


class KeptProcesses:
    """The kept processes of one tuning run, each with the supervisor of the command that left it.

    The supervisors end them when the run's lifeline is closed, which happens at the latest when the
    process that called `keep_until_end` dies, also by `kill -9`. Worker processes inherit the
    descriptors.

    Args:
        lifeline: Reading end of the lifeline.
        report: Writing end of a pipe for the names of processes that had to be ended.
    """

    def __init__(self, lifeline: int, report: int) -> None:
        self.descriptors = (lifeline, report)
        self._supervisors: list[subprocess.Popen] = []

    def add(self, supervisor: subprocess.Popen) -> None:
        """Remember a supervisor, so that it is collected when it has ended."""
        self._supervisors = [one for one in [*self._supervisors, supervisor] if one.poll() is None]

    def collect(self) -> None:
        """Collect the supervisors, which are about to end."""
        for one in self._supervisors:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.wait(1)


@contextlib.contextmanager
def keep_until_end(ended: Callable[[str], None]) -> Iterator[KeptProcesses]:
    """Processes that may be kept within the block; `ended` gets a line about them at its end."""
    lifeline, lifeline_end = os.pipe()
    report_end, report = os.pipe()
    kept = KeptProcesses(lifeline, report)
    try:
        yield kept
    finally:
        for descriptor in (lifeline_end, lifeline, report):
            os.close(descriptor)
        names = _read_names(report_end)
        os.close(report_end)
        kept.collect()
        if names:
            ended(left_behind(names))


def left_behind(names: Sequence[str]) -> str:
    """A line about processes that were ended; empty if there are none."""
    if not names:
        return ""
    different = list(dict.fromkeys(names))
    count = "1 process" if len(names) == 1 else f"{len(names)} processes"
    return f"ended {count} left behind ({listed(different)})"


def _read_names(report: int) -> list[str]:
    """The names that the supervisors report until the last of them has ended."""
    text, deadline = b"", time.monotonic() + PATIENCE
    while (left := deadline - time.monotonic()) > 0:
        if select.select([report], [], [], left)[0]:
            data = os.read(report, CHUNK)
            if not data:
                break
            text += data
    lines = text.decode(errors="replace").splitlines()
    return [
        name
        for line in lines
        if line.startswith("ended ")
        for name in line.removeprefix("ended ").split("\t")
    ]


class Tail:
    """The last `limit` bytes of a stream, however much is written to it."""

    def __init__(self, limit: int = CHUNK) -> None:
        self.limit = limit
        self._bytes = bytearray()
        self._cut = False
        self._seen = 0  # bytes that are no new lines

    def add(self, data: bytes) -> None:
        self._bytes += data
        if len(self._bytes) > 2 * self.limit:
            self._seen = max(0, self._seen + self.limit - len(self._bytes))
            del self._bytes[: -self.limit]
            self._cut = True

    def clear(self) -> None:
        self._bytes.clear()
        self._cut = False
        self._seen = 0

    def new_lines(self) -> str:
        """The lines that were completed since the last call."""
        begin, self._seen = self._seen, self._bytes.rfind(b"\n", self._seen) + 1 or self._seen
        return _decoded(self._bytes[begin : self._seen])

    @property
    def cut(self) -> bool:
        """Whether the beginning of the stream is missing."""
        return self._cut or len(self._bytes) > self.limit

    def text(self) -> str:
        """As UTF-8, with what is not UTF-8 and null characters replaced."""
        return _decoded(self._bytes[-self.limit :])


def _decoded(data: bytearray) -> str:
    return data.decode("utf-8", errors="replace").replace("\0", "\ufffd")


class SupervisedProcess:
    """A program run by the supervisor script, in a session of its own.

    `stdout` holds its last 16 MiB, and `output` (standard output and standard error as they came)
    the last 64 KiB.
    `end`, the collection of this object and the death of this process, whatever its cause, end the
    program and everything it started.

    Args:
        arguments: The program and its arguments.
        folder: Its working directory.
        pass_fds: Descriptors that it inherits.
        kept: If given, what the program leaves running is added to these and not ended.

    Raises:
        OSError: If no process can be started.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        *,
        pass_fds: Sequence[int] = (),
        kept: KeptProcesses | None = None,
    ) -> None:
        self.stdout = Tail(MOST)
        self.output = Tail()
        self.left_behind: tuple[str, ...] = ()  # names of the processes that `end` had to end
        self._code: int | None = None
        self._lines = b""
        self._kept = kept
        lifeline, self._lifeline = os.pipe()
        (self._report, report), (self._stdout, stdout), (self._stderr, stderr) = (
            os.pipe() for _ in range(3)
        )
        of_supervisor = [lifeline, report, self._stdout, self._stderr]
        if kept is not None:
            of_supervisor += kept.descriptors
        try:
            self._supervisor = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", str(SUPERVISOR)),
                    ",".join(map(str, of_supervisor)),
                    *arguments,
                ],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(*of_supervisor, *pass_fds),
                start_new_session=True,
            )
        except BaseException:
            self._cut()
            for descriptor in (self._report, self._stdout, self._stderr):
                os.close(descriptor)
            raise
        finally:
            for descriptor in (lifeline, report, stdout, stderr):
                os.close(descriptor)
        self._selector = selectors.DefaultSelector()
        for descriptor in (self._report, self._stdout, self._stderr):
            os.set_blocking(descriptor, False)
            self._selector.register(descriptor, selectors.EVENT_READ)

    def watch(self, descriptor: int) -> None:
        """Let `read` return when this descriptor is ready, too."""
        self._selector.register(descriptor, selectors.EVENT_READ)

    @property
    def has_ended(self) -> bool:
        """Whether the program is known to have ended."""
        return self._code is not None

    def read(self, seconds: float) -> set[int]:
        """Wait for output, at most this long; returns the watched descriptors that are ready."""
        ready = set()
        for key, _ in self._selector.select(seconds):
            if key.fd in (self._report, self._stdout, self._stderr):
                self._take(key.fd)
            else:
                ready.add(key.fd)
        return ready

    def wait(
        self, deadline: float | None, stop: Stop, enough: Callable[[], bool] = lambda: False
    ) -> int | None:
        """The exit code (negative: the signal), None if it still runs at the monotonic time.

        It is None, too, where it still runs when what it has printed is `enough`. Raises what
        `stop.check` raises.
        """
        while self._code is None:
            stop.check()
            left = PAUSE if deadline is None else min(PAUSE, deadline - time.monotonic())
            self.read(max(left, 0.0))  # first: this process may have been suspended
            if self._code is None and (left <= 0 or enough()):
                return None
        self.drain()
        return self._code

    def drain(self) -> None:
        """Read the output that has been written so far, however much is being written."""
        for descriptor in (self._stdout, self._stderr):
            for _ in range(MOST // CHUNK):
                if descriptor not in self._selector.get_map() or not self._take(descriptor):
                    break

    def end(self) -> None:
        """End the program, and all that it has left running unless that is to be kept."""
        if self._kept is None:
            self._cut()
            self._await_supervisor()
        else:
            self._order(b"t")
            deadline = time.monotonic() + PATIENCE
            while self._code is None and time.monotonic() < deadline:
                self.read(PAUSE)
            self.drain()
            self._order(b"k")
            self._kept.add(self._supervisor)
            self._cut()
        self.drain()
        self._close()

    def __del__(self) -> None:
        self._cut()
        self._close()

    def _await_supervisor(self) -> None:
        deadline = time.monotonic() + PATIENCE
        # What the program prints as it ends must be read, or it may hang.
        while self._report in self._selector.get_map() and time.monotonic() < deadline:
            self.read(PAUSE)
        try:
            self._supervisor.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()

    def _order(self, order: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(self._lifeline, order)

    def _close(self) -> None:
        selector = self.__dict__.pop("_selector", None)
        if selector is not None:
            selector.close()
            for descriptor in (self._report, self._stdout, self._stderr):
                os.close(descriptor)

    def _cut(self) -> None:
        lifeline = self.__dict__.pop("_lifeline", None)
        if lifeline is not None:
            with contextlib.suppress(OSError):
                os.close(lifeline)

    def _take(self, descriptor: int) -> bool:
        """Read one chunk; False if there is none now."""
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._selector.unregister(descriptor)
        if descriptor == self._report:
            self._take_report(data)
            return bool(data)
        if descriptor == self._stdout:
            self.stdout.add(data)
        self.output.add(data)
        return bool(data)

    def _take_report(self, data: bytes) -> None:
        *lines, self._lines = (self._lines + data).split(b"\n")
        for kind, _, rest in (line.decode().partition(" ") for line in lines):
            if kind == "code":
                self._code = int(rest)
            else:
                self.left_behind += tuple(rest.split("\t"))
        if not data and self._code is None:  # the supervisor itself was killed
            self._code = self._supervisor.wait()

"""A subprocess that cannot outlive its owner, and whose output is kept bounded."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

SUPERVISOR = Path(__file__).with_name("supervisor.py")
CHUNK = 65536


class Tail:
    """The last `limit` bytes of a stream, however much is written to it."""

    def __init__(self, limit: int = CHUNK) -> None:
        self._limit = limit
        self._bytes = bytearray()

    def add(self, data: bytes) -> None:
        self._bytes += data
        if len(self._bytes) > 2 * self._limit:
            del self._bytes[: -self._limit]

    def clear(self) -> None:
        self._bytes.clear()

    def text(self) -> str:
        """As UTF-8, with what is not UTF-8 and null characters replaced."""
        last = bytes(self._bytes[-self._limit :])
        return last.decode("utf-8", errors="replace").replace("\0", "\ufffd")


class SupervisedProcess:
    """A program run by the supervisor script, in a session of its own.

    `stdout` and `output` (standard output and standard error as they came) hold its last 64 KiB.
    `kill`, the collection of this object and the death of this process, whatever its cause, end the
    program and everything it started.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        *,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self.stdout = Tail()
        self.output = Tail()
        lifeline, self._lifeline = os.pipe()
        try:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", str(SUPERVISOR), str(lifeline), *arguments],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(lifeline, *pass_fds),
                start_new_session=True,
            )
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(lifeline)
        self._selector = selectors.DefaultSelector()
        for stream in (self._supervisor.stdout, self._supervisor.stderr):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._selector.register(stream, selectors.EVENT_READ)

    def watch(self, descriptor: int) -> None:
        """Let `read` return when this descriptor is ready, too."""
        self._selector.register(descriptor, selectors.EVENT_READ)

    def read(self, seconds: float | None) -> set[int]:
        """Wait for output, at most this long; returns the watched descriptors that are ready."""
        ready = set()
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self._supervisor.stdout or key.fileobj is self._supervisor.stderr:
                self._take(key)
            else:
                ready.add(key.fd)
        return ready

    def wait(self, deadline: float | None) -> int | None:
        """The exit code (negative: the signal), None if it still runs at the monotonic time."""
        while True:
            if self._supervisor.poll() is not None:
                self.drain()
                return self._supervisor.returncode
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return None
            # A program may close its pipes and run on, or end while a descendant holds them open:
            # so poll both.
            pause = 0.005 if not self._selector.get_map() else 0.1
            if left is not None:
                pause = min(pause, left)
            if self._selector.get_map():
                self.read(pause)
            else:
                time.sleep(pause)

    def drain(self) -> None:
        """Read the output that has been written so far."""
        for key in list(self._selector.get_map().values()):
            if key.fileobj is self._supervisor.stdout or key.fileobj is self._supervisor.stderr:
                while self._take(key):
                    pass

    def kill(self) -> None:
        """End the program and all that it started; returns when they are gone."""
        self._cut()
        try:
            self._supervisor.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
        self.drain()
        self.close()

    def close(self) -> None:
        """Close the pipes."""
        self._cut()
        self._selector.close()
        for stream in (self._supervisor.stdout, self._supervisor.stderr):
            if stream is not None:
                stream.close()

    def __del__(self) -> None:
        self._cut()

    def _cut(self) -> None:
        lifeline = self.__dict__.pop("_lifeline", None)
        if lifeline is not None:
            with contextlib.suppress(OSError):
                os.close(lifeline)

    def _take(self, key: selectors.SelectorKey) -> bool:
        """Move one chunk to the tails; False if there is none now."""
        try:
            data = os.read(key.fd, CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._selector.unregister(key.fileobj)
            return False
        if key.fileobj is self._supervisor.stdout:
            self.stdout.add(data)
        self.output.add(data)
        return True

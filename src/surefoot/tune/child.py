"""A program that runs for a while, cannot outlive its owner, and whose output stays bounded."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

GUARD = Path(__file__).with_name("guard.py")
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


class Child:
    """A program started under the guard, in a session of its own.

    `stdout` and `output` (standard output and standard error as they came) hold its last 64 KiB.
    It and everything it started is ended by `kill`, by this object's collection, and by the death
    of this process, whatever the cause.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        *,
        pass_fds: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.stdout = Tail()
        self.output = Tail()
        lifeline, self._lifeline = os.pipe()
        try:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", str(GUARD), str(lifeline), *arguments],
                cwd=folder,
                env=None if environment is None else dict(environment),
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
        for stream in (self._guard.stdout, self._guard.stderr):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._selector.register(stream, selectors.EVENT_READ)

    def watch(self, descriptor: int) -> None:
        """Let `read` return when there is something to read here, too."""
        self._selector.register(descriptor, selectors.EVENT_READ)

    def read(self, seconds: float | None) -> set[int]:
        """Wait for output, at most this long; the watched descriptors that are ready."""
        ready = set()
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self._guard.stdout or key.fileobj is self._guard.stderr:
                self._take(key)
            else:
                ready.add(key.fd)
        return ready

    def wait(self, deadline: float | None) -> int | None:
        """The exit code (negative: the signal), None if it still runs at the monotonic time."""
        while True:
            if self._guard.poll() is not None:
                self.drain()
                return self._guard.returncode
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return None
            # A closed pipe is no proof of an end, and an end closes no pipe that was passed on:
            # so look at both, every now and then.
            pause = 0.005 if not self._selector.get_map() else 0.1
            if left is not None:
                pause = min(pause, left)
            if self._selector.get_map():
                self.read(pause)
            else:
                time.sleep(pause)

    def drain(self) -> None:
        """Take the output that has been written so far."""
        for key in list(self._selector.get_map().values()):
            if key.fileobj is self._guard.stdout or key.fileobj is self._guard.stderr:
                while self._take(key):
                    pass

    def kill(self) -> None:
        """End the program and all it started; returns when they are gone."""
        self._cut()
        try:
            self._guard.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._guard.kill()
            self._guard.wait()
        self.drain()
        self.close()

    def close(self) -> None:
        """Give back the pipes."""
        self._cut()
        self._selector.close()
        for stream in (self._guard.stdout, self._guard.stderr):
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
        if key.fileobj is self._guard.stdout:
            self.stdout.add(data)
        self.output.add(data)
        return True

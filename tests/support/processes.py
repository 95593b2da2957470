"""Whether a process is still there, and `surefoot tune` in a process that can be killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from surefoot.cli import app


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def wait_until_gone(pid: int, seconds: float = 5) -> bool:
    end = time.monotonic() + seconds
    while is_running(pid):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


class Forked:
    """A call in a fork of this process, which has imported everything already; as a `Popen`."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._process = multiprocessing.get_context("fork").Process(
            target=self._call, args=(function, arguments)
        )
        self._process.start()

    def _call(self, function: Callable[..., object], arguments: tuple[object, ...]) -> None:
        sys.stdout, sys.stderr = (file.open("w", buffering=1) for file in self._files)
        function(*arguments)

    @property
    def _files(self) -> tuple[Path, Path]:
        folder = Path(self._folder.name)
        return folder / "out", folder / "err"

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        self._process.join(timeout)
        return self.returncode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def shown(self) -> tuple[str, str]:
        """What it has written to standard output and standard error."""
        out, err = (file.read_text() if file.exists() else "" for file in self._files)
        return out, err

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        self.wait(timeout)
        return self.shown()


def forked_surefoot(*arguments: object) -> Forked:
    """The command `surefoot` in a fork of this process."""
    return Forked(app, [str(one) for one in arguments])


class Tuning:
    """`surefoot tune` in a fork of this process."""

    def __init__(self, path: Path, workers: int = 1) -> None:
        self._process = forked_surefoot("tune", path, "--workers", workers)

    def wait_for(self, file: Path, seconds: float = 60) -> None:
        """Wait until the run or its command has written a file."""
        end = time.monotonic() + seconds
        while not file.exists():
            assert self._process.poll() is None, self._process.shown()
            assert time.monotonic() < end, f"{file} did not appear"
            time.sleep(0.02)

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def end(self, seconds: float = 60) -> tuple[int | None, str]:
        """Exit code and what was shown, once it has ended."""
        code = self._process.wait(seconds)
        if code is None:
            self.kill()
        return code, "".join(self._process.shown())

"""Whether a process is still there, and `surefoot tune` in a process that can be killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
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


class Tuning:
    """`surefoot tune` in a fork of this process, which has imported everything already."""

    def __init__(self, path: Path, workers: int = 1) -> None:
        self._shown = path.with_suffix(".shown")
        arguments = ["tune", str(path), "--workers", str(workers)]
        self._process = multiprocessing.get_context("fork").Process(
            target=self._tune, args=(arguments,)
        )
        self._process.start()

    def _tune(self, arguments: list[str]) -> None:
        sys.stdout = sys.stderr = self._shown.open("w", buffering=1)
        app(arguments)

    def wait_for(self, file: Path, seconds: float = 60) -> None:
        """Wait until the run or its command has written a file."""
        end = time.monotonic() + seconds
        while not file.exists():
            assert self._process.is_alive(), self._shown.read_text()
            assert time.monotonic() < end, f"{file} did not appear"
            time.sleep(0.02)

    def send(self, number: int) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self._process.join()

    def end(self, seconds: float = 60) -> tuple[int | None, str]:
        """Exit code and what was shown, once it has ended."""
        self._process.join(seconds)
        code = self._process.exitcode
        if code is None:
            self.kill()
        return code, self._shown.read_text()

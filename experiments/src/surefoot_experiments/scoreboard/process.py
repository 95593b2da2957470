"""A process in an environment of its own that answers requests, JSON line by JSON line."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surefoot import SurefootError

_LAUNCH = Path(__file__).with_name("launch.py")
_START = 300.0  # seconds for imports
_LAST = 2000  # characters of standard error in a message


class ProcessFailed(SurefootError):
    """A process answered by an error, ended, or took too long."""


class ProcessUnavailable(SurefootError):
    """A process does not start, so that it cannot answer anything."""


class JsonProcess:
    """A process that is started by its first request.

    Args:
        python: Python of its environment.
        module: Module of the scoreboard, whose function `main` is called.
        arguments: Its arguments.
    """

    def __init__(self, python: Path, module: str, *arguments: str) -> None:
        self._python = python
        self._command = (module, *arguments)
        self._name = arguments[-1] if arguments else module
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # as long as this object
        self.greeting: dict[str, Any] = {}  # the first line that it sent

    def request(self, message: Mapping[str, Any], limit: float) -> dict[str, Any]:
        """Send a request and wait for its reply.

        Raises:
            ProcessFailed: The reply is an error, there is none within `limit` seconds, or the
                process has ended. A process that did not answer is stopped.
        """
        if self._process is None:
            self._launch()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
        except OSError:
            self.stop()
            raise ProcessFailed(f"{self._name} has ended{self._errors()}") from None
        return self._reply(limit)

    def stop(self) -> None:
        """Kill the process with those that it started."""
        if self._process is not None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                with contextlib.suppress(OSError):
                    pipe.close()
            self._process = None

    def _launch(self) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        if str(self._python) != sys.executable:
            environment.pop("PYTHONPATH", None)
        self._log.seek(0)
        self._log.truncate()
        self._process = subprocess.Popen(
            [str(self._python), "-P", str(_LAUNCH), *self._command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
            start_new_session=True,
        )
        self._buffer = b""
        try:
            self.greeting = self._reply(_START)
        except ProcessFailed as error:
            self.stop()
            raise ProcessUnavailable(f"{error}; its Python is {self._python}") from None

    def _reply(self, limit: float) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        deadline = time.monotonic() + limit
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                self.stop()
                raise ProcessFailed(f"{self._name} gave no answer within {limit:g} s")
            chunk = os.read(descriptor, 65536)
            if not chunk:
                self.stop()
                raise ProcessFailed(f"{self._name} has ended{self._errors()}")
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise ProcessFailed(f"{self._name}: {reply['error']}")
        return reply

    def _errors(self) -> str:
        self._log.seek(0)
        text = self._log.read().decode(errors="replace").strip()[-_LAST:]
        return f": {text}" if text else ""

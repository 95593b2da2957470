"""The compared optimisers as values, and the processes that serve them."""

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
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from surefoot import SurefootError
from surefoot_experiments.scoreboard.environments import HERE, python_of
from surefoot_experiments.scoreboard.space import Point
from surefoot_experiments.scoreboard.task import Task

_LAUNCH = Path(__file__).with_name("rivals") / "launch.py"
_START = 300.0  # seconds for imports
_LAST = 2000  # characters of standard error in a message


class RivalFailed(SurefootError):
    """An optimiser raised an error, ended or took too long."""


class RivalUnavailable(SurefootError):
    """The process of an optimiser does not start, so that no run of it can be made."""


@dataclass(frozen=True)
class Rival:
    """An optimiser.

    Args:
        name: Name in the tables.
        module: Its module in `rivals`.
        environment: Name of its environment; `HERE` for this one.
        settings: Passed to the module's `create`.
        refit: Whether it is scored a second time, by the best posterior mean of a Gaussian process
            fitted to its measurements.
        boxes_only: Whether it needs a space of real numbers.
    """

    name: str
    module: str
    environment: str = HERE
    settings: Mapping[str, Any] = field(default_factory=dict)
    refit: bool = False
    boxes_only: bool = False


class RivalProcess:
    """A process that serves one optimiser, run after run.

    Args:
        python: Python of its environment.
        module: Its module in `rivals`.
    """

    def __init__(self, python: Path, module: str) -> None:
        self._python, self._module = python, module
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # as long as this object
        self.versions = ""

    def start(self, task: Task, seed: int, settings: Mapping[str, Any], limit: float) -> None:
        """Begin a run."""
        if self._process is None:
            self._launch()
        space = task.space.to_json()
        start = {"do": "start", "space": space, "seed": seed, "budget": task.budget}
        self.request({**start, "settings": dict(settings)}, limit)

    def ask(self, limit: float) -> dict[str, Any]:
        """The next point, with the processor seconds and the wall time that it took."""
        return self.request({"do": "ask"}, limit)

    def tell(self, point: Point, value: float | None, limit: float) -> dict[str, Any]:
        """Pass a measurement, None for a crash."""
        return self.request({"do": "tell", "point": point, "value": value}, limit)

    def recommend(self, limit: float) -> Point:
        """The recommended point."""
        point: Point = self.request({"do": "recommend"}, limit)["point"]
        return point

    def end(self, limit: float) -> float:
        """End the run; its peak memory in MiB."""
        return float(self.request({"do": "end"}, limit)["memory"])

    def request(self, message: Mapping[str, Any], limit: float) -> dict[str, Any]:
        """Send a request and wait for its reply.

        Raises:
            RivalFailed: The reply is an error, there is none within `limit` seconds, or the
                process has ended. A process that did not answer is stopped.
        """
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
        except OSError:
            self.stop()
            raise RivalFailed(f"{self._module} has ended{self._errors()}") from None
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
            [str(self._python), "-P", str(_LAUNCH), self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
            start_new_session=True,
        )
        self._buffer = b""
        try:
            self.versions = str(self._reply(_START)["versions"])
        except RivalFailed as error:
            self.stop()
            raise RivalUnavailable(f"{error}; its Python is {self._python}") from None

    def _reply(self, limit: float) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        deadline = time.monotonic() + limit
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                self.stop()
                raise RivalFailed(f"{self._module} gave no answer within {limit:g} s")
            chunk = os.read(descriptor, 65536)
            if not chunk:
                self.stop()
                raise RivalFailed(f"{self._module} has ended{self._errors()}")
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise RivalFailed(f"{self._module}: {reply['error']}")
        return reply

    def _errors(self) -> str:
        self._log.seek(0)
        text = self._log.read().decode(errors="replace").strip()[-_LAST:]
        return f": {text}" if text else ""


@cache
def process_of(environment: str, module: str) -> RivalProcess:
    """The process of this worker that serves a module."""
    python = python_of(environment)
    if python is None:
        raise RivalUnavailable(f"the environment {environment} has not been built")
    return RivalProcess(python, module)

"""The objective that is a Python function, called in a process of its own."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from surefoot.tune.definition.command_template import InvalidCommand
from surefoot.tune.measuring.measurement import (
    Failure,
    Measurement,
    ObservedVariables,
    describe_exit,
    measurement_of,
    outcome,
    timed_out,
)
from surefoot.tune.measuring.observed_constraints import check_constraints
from surefoot.tune.measuring.printed_value import of_replicates
from surefoot.tune.measuring.quantity import Missing, Quantity
from surefoot.tune.measuring.supervised_process import (
    KeptProcesses,
    SupervisedProcess,
    left_behind,
)
from surefoot.tune.stopping import Stop
from surefoot.tune.system import PAUSE

SERVER = Path(__file__).with_name("function_server.py")
_NO_VALUE = (
    "no {0!r} in the dictionary that was returned, expected it, since {0} is in the study file"
)
_NO_KEY = "no {0!r} in the dictionary that was returned, expected it, since {0} is observed"


@dataclass
class FunctionObjective:
    """Calls a function with the parameters as keywords.

    The module is imported once, in a process that serves all calls, so its state (connections, a
    random generator) lasts from call to call. A call that exceeds the timeout or ends the process
    is a failure, and the next call starts a new process. It returns a number, or a list of them,
    which are replicates of one run. Where the environment is observed or there are constraints, it
    returns a pair: this, and a dictionary of all of these. In that dictionary it may also name its
    standard error, `sem`, and its `worker`.

    Args:
        target: `"module:name"`.
        names: Keyword arguments of the function.
        folder: Working directory, in which the module is looked up first.
        timeout: Limit of one call in seconds, None for no limit.
        observed: Variables of the environment that the function reports, if any.
        kept: Where to keep what the function leaves running when its process ends; if None, it is
            ended.
        constraints: Names of the constraints, whose values the function reports.
        objectives: Names of several objectives, of which the first is the measurement.
        conditional: Members of `names` that are left out where the parameter is inactive.
    """

    target: str
    names: Sequence[str]
    folder: Path
    timeout: float | None
    observed: ObservedVariables | None = None
    kept: KeptProcesses | None = None
    constraints: Sequence[str] = ()
    conditional: Sequence[str] = ()
    objectives: Sequence[str] = ()
    _server: FunctionServer | None = field(default=None, init=False)

    def check(self) -> None:
        reply = self._start().ready(None, Stop())
        if "error" in reply:
            self.close()
            raise InvalidCommand(
                f"cannot use {self.target!r}: {reply['error']}", key="objective.function"
            )

    def measure(
        self, params: Mapping[str, Any], stop: Stop, most: float = math.inf
    ) -> Measurement | Failure:
        start = time.monotonic()
        deadline = None if self.timeout is None else start + self.timeout
        left = ""
        try:
            reply: dict[str, Any] = {}
            server = self._server
            if server is None:
                server = self._start()
                reply = server.ready(deadline, stop)
            if "error" not in reply:
                reply = server.call(params, deadline, stop)
            seconds = time.monotonic() - start
            server.process.drain()
            if server.broken:
                self.close()
                left = left_behind(server.process.left_behind)
            output = server.process.output.text()
        except OSError as error:
            self.close()
            reason = f"the function's process cannot be started: {error.strerror or error}"
            return outcome(Missing(reason), "", time.monotonic() - start)
        except BaseException:
            self.close()
            raise
        if "error" in reply:
            missing = Missing(str(reply["error"]), bool(reply.get("blameless")))
            return outcome(missing, output, seconds, left_behind=left)
        observed = self.observed
        environment = None if observed is None else observed.check(reply["reported"], _NO_KEY)
        reported = {
            name: Quantity(float(one))
            for name, one in reply.get("reported", {}).items()
            if one is not None
        }
        others = check_constraints(self.constraints, reported, _NO_VALUE, self.objectives)
        measured = of_replicates(reply["samples"] if "samples" in reply else [reply["value"]])
        measured = replace(measured, sem=float(reply.get("sem", measured.sem)))
        worker = reply.get("worker")
        what = measurement_of(self.objectives)
        return outcome(measured, output, seconds, environment, left, others, worker, what)

    def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def _start(self) -> FunctionServer:
        reported = [*(() if self.observed is None else self.observed.variables), *self.constraints]
        marked = [f"{name}?" if name in self.conditional else name for name in self.names]
        first = self.objectives[0] if self.objectives else ""
        arguments = [*self.target.split(":"), first, ",".join(reported), *marked]
        self._server = FunctionServer(arguments, self.folder, self.timeout, self.kept)
        return self._server


class FunctionServer:
    """The process that runs the function, and two pipes of JSON lines to and from it.

    A reply has `value` or `samples`, and where they were returned `reported`, `sem` and `worker`;
    or it is `{"error": reason}`, with `blameless` where that says nothing about the configuration.
    Once `broken`, the server can only be closed.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        timeout: float | None,
        kept: KeptProcesses | None,
    ) -> None:
        requests, self._requests = os.pipe()
        self._replies, replies = os.pipe()
        self._timeout = timeout
        self._buffer = b""
        self.broken = False
        try:
            self.process = SupervisedProcess(
                [sys.executable, "-P", str(SERVER), str(requests), str(replies), *arguments],
                folder,
                pass_fds=(requests, replies),
                kept=kept,
            )
        except BaseException:
            os.close(self._requests)
            os.close(self._replies)
            raise
        finally:
            os.close(requests)
            os.close(replies)
        self.process.watch(self._replies)

    def ready(self, deadline: float | None, stop: Stop) -> dict[str, Any]:
        """The first reply, which has an error if the function cannot be called."""
        reply = self._reply(deadline, stop)
        self.broken = self.broken or "error" in reply
        return reply

    def call(self, params: Mapping[str, Any], deadline: float | None, stop: Stop) -> dict[str, Any]:
        """Call the function and wait for its reply until the monotonic time `deadline`."""
        self.process.output.clear()
        with contextlib.suppress(BrokenPipeError):  # it has ended: `_reply` finds out how
            os.write(self._requests, json.dumps(dict(params)).encode() + b"\n")
        return self._reply(deadline, stop)

    def close(self) -> None:
        self.process.end()
        os.close(self._requests)
        os.close(self._replies)

    def _reply(self, deadline: float | None, stop: Stop) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            stop.check()
            left = PAUSE if deadline is None else min(PAUSE, deadline - time.monotonic())
            replied = self._replies in self.process.read(max(left, 0.0))
            if left <= 0 and not replied:  # which says more where this process was suspended
                self.broken = True
                return {"error": timed_out(self._timeout)}
            data = os.read(self._replies, 65536) if replied else b""
            self._buffer += data
            # A process that the function has forked may keep the pipe open after its end.
            if not data and (replied or self.process.has_ended):
                self.broken = True
                how = describe_exit(self.process.wait(time.monotonic() + 5, stop) or 0)
                return {"error": f"the process that runs the function ended: {how}"}
        line, _, self._buffer = self._buffer.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        return reply

"""The objective that is a Python function, called in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from surefoot.tune.child import Child
from surefoot.tune.command_line import WrongCommand
from surefoot.tune.objective import Failure, Measurement, describe_exit, outcome, timed_out
from surefoot.tune.observed import Observed

_NO_KEY = "no {0!r} in the dictionary that was returned, expected it, since {0} is observed"
SERVER = Path(__file__).with_name("serve_function.py")


class FunctionObjective:
    """Calls `module:name` from `folder`, with the parameters as keywords.

    The module is imported once, in a child process that serves every call; so a generator of
    random numbers that the module makes goes on from call to call. A call that passes `timeout`
    seconds, or ends the process, is a failure, and the next call begins in a fresh process. Where
    an environment is `observed`, the function returns a pair: the value, and a dictionary of it.
    """

    def __init__(
        self,
        target: str,
        parameters: Sequence[str],
        folder: Path,
        timeout: float | None,
        observed: Observed | None = None,
    ) -> None:
        names = () if observed is None else observed.variables
        self._arguments = [*target.split(":"), ",".join(names), *parameters]
        self._observed = observed
        self._folder = folder
        self._timeout = timeout
        self._server: Server | None = None

    def check(self) -> None:
        """Import the function and see that it takes the parameters, else raise `WrongCommand`."""
        started = self._start(Server(self._arguments, self._folder), None)
        if isinstance(started, str):
            self.close()
            target = ":".join(self._arguments[:2])
            raise WrongCommand(f"cannot use {target!r}: {started}", key="objective.function")

    def measure(self, params: Mapping[str, Any]) -> Measurement | Failure:
        start = time.monotonic()
        deadline = None if self._timeout is None else start + self._timeout
        try:
            server = self._server
            reply: dict[str, Any] | str = {}
            if server is None:
                server = Server(self._arguments, self._folder)
                reply = self._start(server, deadline)
            if not isinstance(reply, str):
                reply = self._ask(server, params, deadline)
            server.child.drain()
            output, seconds = server.child.output.text(), time.monotonic() - start
            result = self._outcome(reply, output, seconds)
            if server.broken:
                self.close()
            return result
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def _start(self, server: Server, deadline: float | None) -> dict[str, Any] | str:
        self._server = server
        answer = self._answer(server, deadline)
        server.broken = server.broken or isinstance(answer, str)
        return answer

    def _ask(
        self, server: Server, params: Mapping[str, Any], deadline: float | None
    ) -> dict[str, Any] | str:
        server.child.output.clear()
        server.ask(params)
        return self._answer(server, deadline)

    def _answer(self, server: Server, deadline: float | None) -> dict[str, Any] | str:
        """What the function gave, or why it gave nothing."""
        reply = server.reply(deadline)
        if reply is None:
            return timed_out(self._timeout)
        if isinstance(reply, int):
            return f"the process that runs the function ended: {describe_exit(reply)}"
        return str(reply["error"]) if "error" in reply else reply

    def _outcome(
        self, reply: dict[str, Any] | str, output: str, seconds: float
    ) -> Measurement | Failure:
        if isinstance(reply, str):
            return outcome(reply, output, seconds)
        environment: dict[str, float] | str | None = None
        if self._observed is not None:
            environment = self._observed.checked(reply["environment"], _NO_KEY)
        return outcome(float(reply["value"]), output, seconds, environment)


class Server:
    """The child process, and the two pipes to talk with it in lines of JSON."""

    def __init__(self, arguments: Sequence[str], folder: Path) -> None:
        requests, self._requests = os.pipe()
        self._replies, replies = os.pipe()
        self._buffer = b""
        self.broken = False
        try:
            self.child = Child(
                [sys.executable, "-P", str(SERVER), str(requests), str(replies), *arguments],
                folder,
                pass_fds=(requests, replies),
            )
        finally:
            os.close(requests)
            os.close(replies)
        self.child.watch(self._replies)

    def ask(self, params: Mapping[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError):  # it has ended: `reply` finds out how
            os.write(self._requests, json.dumps(dict(params)).encode() + b"\n")

    def reply(self, deadline: float | None) -> dict[str, Any] | int | None:
        """The next reply; the exit code if the process ended; None at the deadline.

        After anything but a reply the server is `broken`: it can only be closed.
        """
        while b"\n" not in self._buffer:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                self.broken = True
                return None
            if self._replies in self.child.read(left):
                data = os.read(self._replies, 65536)
                if not data:
                    self.broken = True
                    code = self.child.wait(time.monotonic() + 5)
                    return 0 if code is None else code
                self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def close(self) -> None:
        self.child.kill()
        os.close(self._requests)
        os.close(self._replies)

"""The loop that serves an optimiser: JSON lines in, JSON lines out.

Requests are `start`, `ask`, `tell`, `recommend` and `end`; each is answered by one line. `start`
forks, so that every run begins in a process that has imported its packages and done nothing else,
and a run that ends by a signal ends alone.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import time
import traceback
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from typing import Any, Protocol, TextIO

from surefoot_experiments.scoreboard.space import Point, Space

Reply = dict[str, Any]


class Rival(Protocol):
    """An optimiser that minimises."""

    def ask(self) -> Point:
        """The point to measure next."""
        ...

    def tell(self, point: Point, value: float) -> None:
        """Take in a measurement of the point asked for; NaN if it crashed."""
        ...

    def recommend(self) -> Point:
        """The point that its user would deploy."""
        ...


def serve(module: str) -> None:
    """Answer requests on standard input until it is closed.

    What the optimiser prints goes to standard error.
    """
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    requests = _lines(0)
    try:
        rival = import_module(module)
        versions = ", ".join(f"{name} {version(name)}" for name in rival.PACKAGES)
    except Exception as error:
        _send(replies, {"error": _described(error)})
        return
    _send(replies, {"versions": versions})
    for request in requests:
        child = os.fork()
        if child == 0:
            _run(rival.create, request, requests, replies)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            _send(replies, {"error": f"the process ended by signal {os.WTERMSIG(status)}"})


def _run(create: Any, start: Reply, requests: Iterator[Reply], replies: TextIO) -> None:
    """Serve one run, until it is ended or has raised an error."""
    try:
        space = Space.from_json(start["space"])
        began = _cpu_seconds()
        rival: Rival = create(space, start["seed"], start["budget"], **start["settings"])
        _send(replies, {"seconds": _cpu_seconds() - began})
        for request in requests:
            began, wall = _cpu_seconds(), time.perf_counter()
            reply: Reply = {}
            if request["do"] == "ask":
                reply["point"] = rival.ask()
            elif request["do"] == "tell":
                value = request["value"]
                rival.tell(request["point"], math.nan if value is None else value)
            elif request["do"] == "recommend":
                reply["point"] = rival.recommend()
            else:
                reply["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            reply |= {"seconds": _cpu_seconds() - began, "wall": time.perf_counter() - wall}
            _send(replies, reply)
            if request["do"] == "end":
                return
    except Exception as error:
        traceback.print_exc()
        _send(replies, {"error": _described(error)})


def _send(replies: TextIO, reply: Reply) -> None:
    replies.write(json.dumps(reply, default=lambda number: number.item()) + "\n")
    replies.flush()


def _lines(descriptor: int) -> Iterator[Reply]:
    """Requests, read without taking in more than the next one, which may be another process's."""
    line = b""
    while chunk := os.read(descriptor, 65536):
        line += chunk
        if line.endswith(b"\n"):
            request, line = json.loads(line), b""
            yield request


def _cpu_seconds() -> float:
    """Processor time of this process and its children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]


if __name__ == "__main__":
    sys.exit("run launch.py instead")

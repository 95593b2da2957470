"""The loop that serves an optimiser: JSON lines in, JSON lines out.

Requests are `start`, `ask`, `tell`, `recommend` and `end`; each is answered by one line. `start`
forks, so that every run begins in a process that has imported its packages and done nothing else,
and a run that ends by a signal ends alone.
"""

from __future__ import annotations

import math
import os
import resource
import time
import traceback
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from typing import Any, Protocol, TextIO

from surefoot_experiments.scoreboard.pipes import Reply, connected, described, send
from surefoot_experiments.scoreboard.space import Point, Space


class Rival(Protocol):
    """An optimiser that minimises."""

    def ask(self) -> Point:
        """The point to measure next."""

    def tell(self, point: Point, value: float, **others: float) -> None:
        """Take in a measurement of the point asked for; NaN if it crashed.

        Where there are constraints, `others` are their values by name.
        """

    def recommend(self) -> Point:
        """The point that its user would deploy; empty if it recommends none.

        A rival that predicts its value has the attribute `interval` then, the ends of a 95 %
        interval.
        """


def main(module: str) -> None:
    """Serve the optimiser of a module, whose packages' versions are the first reply."""
    requests, replies = connected()
    try:
        rival = import_module(f"{__package__}.{module}")
        versions = ", ".join(f"{name} {version(name)}" for name in rival.PACKAGES)
    except Exception as error:
        send(replies, {"error": described(error)})
        return
    send(replies, {"versions": versions})
    for request in requests:
        child = os.fork()
        if child == 0:
            _run(rival.create, request, requests, replies)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            code = os.waitstatus_to_exitcode(status)
            send(replies, {"error": f"the process of the run ended with {code}"})


def _run(create: Any, start: Reply, requests: Iterator[Reply], replies: TextIO) -> None:
    """Serve one run, until it is ended or has raised an error."""
    try:
        space = Space.from_json(start["space"])
        began = _cpu_seconds()
        rival: Rival = create(space, start["seed"], start["budget"], **start["settings"])
        send(replies, {"seconds": _cpu_seconds() - began})
        for request in requests:
            began, wall = _cpu_seconds(), time.perf_counter()
            reply: Reply = {}
            if request["do"] == "ask":
                reply["point"] = rival.ask()
            elif request["do"] == "tell":
                value = request["value"]
                others = request.get("others", {})
                rival.tell(request["point"], math.nan if value is None else value, **others)
            elif request["do"] == "recommend":
                reply["point"] = rival.recommend()
                if hasattr(rival, "interval"):
                    reply["interval"] = rival.interval
            else:
                reply["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            reply |= {"seconds": _cpu_seconds() - began, "wall": time.perf_counter() - wall}
            send(replies, reply)
            if request["do"] == "end":
                return
    except Exception as error:
        traceback.print_exc()
        send(replies, {"error": described(error)})


def _cpu_seconds() -> float:
    """Processor time of this process and its children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system

"""Processes that commands leave running and that live until the run ends, however it ends."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence

PATIENCE = 15.0  # seconds for all of them to end
SHOWN = 3  # names in a message


class KeptProcesses:
    """The kept processes of one tuning run, each with the supervisor of the command that left it.

    The supervisors end them when the run's lifeline is closed, which happens at the latest when the
    process that called `keep_until_end` dies, also by `kill -9`. Worker processes inherit the
    descriptors.

    Args:
        lifeline: Reading end of the lifeline.
        report: Writing end of a pipe for the names of processes that had to be ended.
    """

    def __init__(self, lifeline: int, report: int) -> None:
        self.descriptors = (lifeline, report)
        self._supervisors: list[subprocess.Popen] = []

    def add(self, supervisor: subprocess.Popen) -> None:
        """Remember a supervisor, so that it is collected when it has ended."""
        self._supervisors = [one for one in [*self._supervisors, supervisor] if one.poll() is None]

    def collect(self) -> None:
        """Collect the supervisors, which are about to end."""
        for one in self._supervisors:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.wait(1)


@contextlib.contextmanager
def keep_until_end(ended: Callable[[str], None]) -> Iterator[KeptProcesses]:
    """Processes that may be kept within the block; `ended` gets a line about them at its end."""
    lifeline, lifeline_end = os.pipe()
    report_end, report = os.pipe()
    kept = KeptProcesses(lifeline, report)
    try:
        yield kept
    finally:
        for descriptor in (lifeline_end, lifeline, report):
            os.close(descriptor)
        names = _read_names(report_end)
        os.close(report_end)
        kept.collect()
        if names:
            ended(left_behind(names))


def left_behind(names: Sequence[str]) -> str:
    """A line about processes that were ended; empty if there are none."""
    if not names:
        return ""
    different = list(dict.fromkeys(names))
    shown = ", ".join(different[:SHOWN]) + (", ..." if len(different) > SHOWN else "")
    count = "1 process" if len(names) == 1 else f"{len(names)} processes"
    return f"ended {count} left behind ({shown})"


def _read_names(report: int) -> list[str]:
    """The names that the supervisors report until the last of them has ended."""
    text, deadline = b"", time.monotonic() + PATIENCE
    while (left := deadline - time.monotonic()) > 0:
        if select.select([report], [], [], left)[0]:
            data = os.read(report, 65536)
            if not data:
                break
            text += data
    lines = text.decode(errors="replace").splitlines()
    return [
        name
        for line in lines
        if line.startswith("ended ")
        for name in line.removeprefix("ended ").split("\t")
    ]

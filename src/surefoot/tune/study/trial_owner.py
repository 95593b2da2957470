"""The process that owns a running trial, and whether it still exists to finish it.

Other machines see that by its heartbeats.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from optuna.trial import FrozenTrial

from surefoot.tune import system
from surefoot.tune.study.trial_attributes import OWNER

_ended_runs: set[str] = set()  # of this process, which may have been unable to say so
_KEYS = {"run", "host", "pid", "born"}


def this_process(run: str) -> dict[str, Any]:
    """This process, as a trial's user attribute; `run` names its tuning run."""
    return {
        "run": run,
        "host": socket.gethostname(),
        "boot": _boot(),
        "pid": os.getpid(),
        "born": system.born(os.getpid()),
    }


def worker_name(index: int) -> str:
    """The name of a worker of this machine."""
    return f"{socket.gethostname()}/w{index}"


def owner_of(trial: FrozenTrial) -> dict[str, Any] | None:
    """The process that owns a trial; None if surefoot has recorded none."""
    owner = trial.user_attrs.get(OWNER)
    return owner if isinstance(owner, dict) and owner.keys() >= _KEYS else None


def is_owned(trial: FrozenTrial) -> bool:
    """Whether a process of surefoot measures a trial."""
    return owner_of(trial) is not None


def is_gone(process: dict[str, Any]) -> bool:
    """Whether a process of this machine has ended, or its run has in this process."""
    if process["pid"] == os.getpid() and process["run"] in _ended_runs:
        return True
    return system.born(process["pid"]) != process["born"]


def run_ended(run: str) -> None:
    """Note that a run of this process is over: no trial of it is measured any longer."""
    _ended_runs.add(run)


def is_elsewhere(process: dict[str, Any]) -> bool:
    """Whether the process is of another machine or container than this one, or of another boot.

    Machines may have the same name, so that of another boot is not known to be gone.
    """
    return process.get("host") != socket.gethostname() or process.get("boot") != _boot()


@cache
def _boot() -> list[str]:
    return system.boot()


HEARTBEAT = "surefoot:heartbeat"
"""User attribute of a running trial: how often its process has said that it is alive."""
INTERVAL = 20.0  # seconds between two heartbeats
SILENCE = 150.0  # seconds without one, after which the process is taken to be gone


@contextlib.contextmanager
def heartbeats(beat: Callable[[int], None], interval: float = INTERVAL) -> Iterator[None]:
    """Call `beat` with 1, 2, ... at intervals (seconds) within the block, in another thread.

    A heartbeat that fails is left out: the measurement goes on, and storing its result will show
    what is wrong.
    """
    ended = threading.Event()

    def run() -> None:
        count = 0
        while not ended.wait(interval):
            count += 1
            with contextlib.suppress(Exception):
                beat(count)

    threading.Thread(target=run, daemon=True, name="heartbeat").start()
    try:
        yield
    finally:
        ended.set()


@dataclass(frozen=True)
class SilentTrials:
    """Trials of other machines without a heartbeat for long.

    What counts is how long a heartbeat has not changed by the clock of this process, so the clocks
    of the machines may differ.

    Args:
        clock: The present time, in seconds.
    """

    clock: Callable[[], float] = time.monotonic
    _since: dict[int, tuple[object, float]] = field(default_factory=dict)

    def is_silent(self, trial: FrozenTrial) -> bool:
        """Whether a running trial has had no new heartbeat for `SILENCE` seconds."""
        beat, now = trial.user_attrs.get(HEARTBEAT), self.clock()
        seen, since = self._since.get(trial.number, (None, now))
        if seen != beat or trial.number not in self._since:
            since = now
        self._since[trial.number] = (beat, since)
        return now - since >= SILENCE

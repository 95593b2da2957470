"""Heartbeats of running trials, by which other machines see that a trial's process is alive."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from optuna.trial import FrozenTrial

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

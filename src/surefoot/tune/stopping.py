"""Being told to stop: Ctrl-C once to finish what runs, twice (or SIGTERM) to stop at once."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType


class Stop:
    """Whether a stop was asked for; the loop looks at it between trials."""

    def __init__(self) -> None:
        self.requested = False


@contextlib.contextmanager
def on_signals(stop: Stop, note: Callable[[], None]) -> Iterator[None]:
    """Within this, signals set `stop` or raise, in the main thread of the process.

    The first SIGINT asks for a stop and calls `note`; the second raises `KeyboardInterrupt`.
    SIGTERM and SIGHUP raise `SystemExit` with 128 plus the signal's number.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        if stop.requested:
            raise KeyboardInterrupt
        stop.requested = True
        note()

    def terminate(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    handlers = {
        signal.SIGINT: interrupt,
        signal.SIGTERM: terminate,
        signal.SIGHUP: terminate,
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

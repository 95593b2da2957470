"""Stopping by signals: handlers set a flag, and the run raises at places that propagate it."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType

from surefoot.tune.closed_terminal import forget_closed_terminal
from surefoot.tune.storage_watchdog import ended_without_answer, in_transaction


class Stop:
    """Whether this process was told to stop.

    An exception that a signal handler raises is lost where Python cannot propagate it, such as in
    the callback of a weak reference. So handlers set this flag, and whatever takes long looks at it
    often.

    Args:
        look: Called by every `check`; may raise.
        note: Called by the first `check` after `request`.

    Attributes:
        requested: Whether the run is to end once the running trial is recorded.
        note: As given; a handler must not print, since it may interrupt what is being printed.
    """

    def __init__(
        self, look: Callable[[], None] = lambda: None, note: Callable[[], None] = lambda: None
    ) -> None:
        self.requested = False
        self.note = note
        self._look = look
        self._noted = False
        self._error: Callable[[], BaseException] | None = None
        self._interruptible = False

    def request(self) -> None:
        """Let the run end after the running trial."""
        self.requested = True

    def check(self) -> None:
        """Raise `KeyboardInterrupt` or `SystemExit` if the run is to end at once."""
        self._look()
        if self.requested and not self._noted:
            self._noted = True
            self.note()
        if self._error is not None:
            raise self._error()

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Within this block signal handlers raise, too, since calculations do not call `check`.

        But for the transactions of a storage: an abandoned one would lock out its own process.
        """
        self._interruptible = True
        try:
            self.check()
            yield
        finally:
            self._interruptible = False
        self.check()

    def end(self, error: Callable[[], BaseException], frame: FrameType | None) -> None:
        """Let `check` raise this error from now on; `frame` is what the signal has interrupted."""
        self._error = error
        if self._interruptible and not in_transaction(frame):
            raise error()


@contextlib.contextmanager
def stop_on_signals(stop: Stop) -> Iterator[None]:
    """Handle signals in the main thread of the process.

    After the first SIGINT a stop is requested; after the second `stop.check` raises
    `KeyboardInterrupt`. After SIGTERM and SIGHUP it raises `SystemExit` with 128 plus the
    signal's number; SIGHUP stays ignored if it was, as by `nohup`.

    Transactions of a storage are completed before. If the storage does not answer, the process ends
    nevertheless; see `storage_watchdog`.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        if stop.requested:
            stop.end(KeyboardInterrupt, frame)
        else:
            stop.request()

    def terminate(number: int, frame: FrameType | None) -> None:
        forget_closed_terminal()
        stop.end(lambda: SystemExit(128 + number), frame)

    handlers = {
        signal.SIGINT: interrupt,
        signal.SIGTERM: terminate,
        signal.SIGHUP: terminate,
    }
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        del handlers[signal.SIGHUP]
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        with ended_without_answer():
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

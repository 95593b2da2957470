"""Stopping by signals: handlers set a flag, and the run raises at places that propagate it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from surefoot.tune.system import PATIENCE, forget_closed_terminal

_STORAGES = ("sqlalchemy.", "optuna.storages.")
_GIVEN_UP = (
    b"ended without an answer of the storage; what was recorded before is safe, and the same "
    b"command resumes the study\n"
)
_SHOW_CURSOR = b"\x1b[?25h"


def in_transaction(frame: FrameType | None) -> bool:
    """Whether code of a storage is running."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(_STORAGES):
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def ended_without_answer() -> Iterator[None]:
    """End the process where a storage has not answered for `PATIENCE` after a signal to end.

    A third SIGINT ends it at once. A thread does it, since a driver may let no handler run while
    it waits.
    """
    signals, written = os.pipe()
    os.set_blocking(written, False)
    before = signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    threading.Thread(
        target=_watch, args=(signals, threading.get_ident()), daemon=True, name="signals"
    ).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(written)


def _watch(signals: int, main: int) -> None:
    """Read the numbers of signals until the pipe is closed."""
    interrupts, code, since = 0, 0, None
    while True:
        came = select.select([signals], [], [], PATIENCE / 20 if code else None)[0]
        numbers = os.read(signals, 4096) if came else b""
        if came and not numbers:
            os.close(signals)
            return
        interrupts += numbers.count(signal.SIGINT)
        for number in numbers:
            if number in (signal.SIGTERM, signal.SIGHUP) or interrupts > 1:
                code = 128 + number
        if not code or not in_transaction(sys._current_frames().get(main)):
            since = None
            continue
        since = time.monotonic() if since is None else since
        third = signal.SIGINT in numbers and interrupts > 2
        if third or time.monotonic() - since >= PATIENCE:
            _exit(code)


def _exit(code: int) -> None:
    """End this process as SIGKILL would, which a run survives; commands end with it."""
    with contextlib.suppress(OSError):
        if os.isatty(1):
            os.write(1, _SHOW_CURSOR)  # which a progress display has hidden
        os.write(2, _GIVEN_UP)
    os._exit(code)


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
    nevertheless.
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

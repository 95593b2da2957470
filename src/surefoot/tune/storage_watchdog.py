"""End of a process that was told to stop while its storage does not answer."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

_STORAGES = ("sqlalchemy.", "optuna.storages.")
PATIENCE = 10.0  # seconds for a transaction of the storage to end before the process does
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

"""Worker processes that end with the process that started them."""

from __future__ import annotations

import os
import sys
import threading
import time

_EVERY = 1.0  # seconds

_watched: set[int] = set()  # by this process


def end_with(parent: int) -> None:
    """From now on, end this process once its parent has ended, however that did.

    A process that is killed cannot stop its workers, which would finish trials that nobody
    collects. Does nothing in the parent itself, and on Windows, where a process keeps the number
    of a parent that is gone.
    """
    if sys.platform == "win32" or os.getpid() == parent or parent in _watched:
        return
    _watched.add(parent)
    threading.Thread(target=_wait, args=(parent,), daemon=True, name="end-with-parent").start()


def _wait(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_EVERY)
    os._exit(1)

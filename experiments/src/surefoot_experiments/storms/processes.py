"""The processes of a storm, found by a variable of their environment."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

MARK = "SUREFOOT_STORM"


def marked(mark: str) -> dict[int, str]:
    """The living processes that have inherited a mark, with their names (Linux)."""
    wanted, found = f"{MARK}={mark}".encode(), {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found[int(entry.name)] = (entry / "comm").read_text().strip()
    return found


def survivors(mark: str, seconds: float) -> dict[int, str]:
    """Those that are still there after some seconds; they are killed then."""
    deadline = time.monotonic() + seconds
    while (left := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return left

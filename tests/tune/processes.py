"""Whether a process is still there."""

from __future__ import annotations

import time
from pathlib import Path


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def wait_until_gone(pid: int, seconds: float = 5) -> bool:
    end = time.monotonic() + seconds
    while is_running(pid):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True

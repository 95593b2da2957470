"""Telling whether the process that began a trial is still there to finish it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any

MARGIN = 600.0  # seconds beyond the timeout after which a trial on another machine is given up
PATIENCE = 86400.0  # the same where there is no timeout


def this_process(run: str) -> dict[str, Any]:
    """Marks a trial as this process's; `run` names the tuning run that the process belongs to."""
    return {
        "run": run,
        "host": socket.gethostname(),
        "boot": _boot(),
        "pid": os.getpid(),
        "born": _born(os.getpid()),
        "began": time.time(),
    }


def is_gone(process: dict[str, Any], timeout: float | None) -> bool:
    """Whether the process can no longer finish its trial.

    On this machine that is looked up. Of another machine's processes it is only assumed, once the
    trial is well past its timeout (seconds).
    """
    if process.get("host") == socket.gethostname():
        boot = process.get("boot")
        if boot is not None and boot[0] != _boot()[0]:
            return True  # the machine was started anew since
        if boot == _boot():
            return _born(int(process["pid"])) != process["born"]
    age = time.time() - float(process.get("began", 0.0))
    return age > (PATIENCE if timeout is None else timeout + MARGIN)


@cache
def _boot() -> list[str]:
    """This start of the machine, and the name space that process ids count in."""
    boot, space = "", ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        space = os.readlink("/proc/self/ns/pid")
    return [boot, space]


def _born(pid: int) -> str | None:
    """When a process started, in words of the system; None if there is no such process.

    Process ids are used again, so a pid alone does not name a process.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        if Path("/proc/self/stat").exists():
            return None
        found = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        return found.stdout.strip() or None
    fields = stat.rpartition(")")[2].split()
    # Fields 3 and 22 of proc(5): a zombie has ended, though it is still listed.
    return None if fields[0] in "ZX" else fields[19]

"""Run a command while nothing of another study runs: `take_turn.py LOCK PID COMMAND ...`.

The lock keeps the other study's measurement out, and the process whose number is in the file PID,
which would fit its model meanwhile, is suspended until the command has ended.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path


def main() -> None:
    # Turned into an exit, so that the other process is continued after a timeout, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    lock, other, *command = sys.argv[1:]
    with open(lock, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            _send(signal.SIGSTOP, Path(other))
            code = subprocess.run(command, check=False).returncode
        finally:
            _send(signal.SIGCONT, Path(other))
    sys.exit(code)


def _send(number: int, file: Path) -> None:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int(file.read_text()), number)


if __name__ == "__main__":
    main()

"""A neighbour that comes and goes: keeps one core busy for 20 to 60 s at random times.

It writes when it was busy to a file, a line of JSON each time, and ends with its parent or by
SIGTERM, after the line of a time that this cuts short. Of several with the same file, one is active
at a time.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import TextIO

BUSY = (20.0, 60.0)  # seconds
QUIET = (20.0, 80.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--log", type=Path, required=True)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    moments = random.Random(given.seed)
    parent = os.getppid()
    log = given.log.open("a", encoding="utf-8")
    while not _is_alone(log):
        _quiet(1.0, parent)
    while True:
        _quiet(moments.uniform(*QUIET), parent)
        began = time.time()
        end = time.monotonic() + moments.uniform(*BUSY)
        try:
            while time.monotonic() < end and os.getppid() == parent:
                sum(range(100_000))
        finally:
            log.write(json.dumps([round(began, 2), round(time.time(), 2)]) + "\n")
            log.flush()


def _is_alone(log: TextIO) -> bool:
    try:
        fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _quiet(seconds: float, parent: int) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if os.getppid() != parent:
            raise SystemExit
        time.sleep(min(left, 1.0))


if __name__ == "__main__":
    main()

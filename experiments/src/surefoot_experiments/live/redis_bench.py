"""Measure Redis in one configuration: milliseconds per thousand requests of redis-benchmark.

A server on a socket in a temporary folder inside the current one is started with the configuration
and an append-only file, takes writes and reads of hashes, lists and strings from 20 clients, and is
stopped. The last line printed is the measurement.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

CLIENTS = 20
VALUE = "x" * 100
# Commands with their numbers of requests. `__rand_int__` is drawn below KEYS.
KEYS = 300
LOAD = (
    (f"HSET hash:__rand_int__ field:__rand_int__ {VALUE}", 12_000),
    ("HGET hash:__rand_int__ field:__rand_int__", 8_000),
    (f"LPUSH list {VALUE}", 5_000),
    ("LRANGE list 500 540", 3_000),
    (f"SET key:__rand_int__ {VALUE}", 5_000),
)
SETTINGS = (
    "appendfsync",
    "hash-max-listpack-entries",
    "hash-max-listpack-value",
    "list-max-listpack-size",
    "list-compress-depth",
    "hz",
    "auto-aof-rewrite-min-size",
)


@contextlib.contextmanager
def server(folder: Path, settings: dict[str, str]) -> Iterator[Path]:
    """Start a server in a folder, and stop it at the end; yields its socket."""
    socket = Path(tempfile.gettempdir()) / f"{folder.name}.sock"
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "dir": str(folder),
        "save": "",
        "appendonly": "yes",
        "loglevel": "warning",
    }
    words = [word for name, value in (options | settings).items() for word in (f"--{name}", value)]
    process = subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 10.0
        while not socket.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("redis-server did not start")
            time.sleep(0.01)
        yield socket
    finally:
        process.kill()  # its data are not needed
        process.wait()
        socket.unlink(missing_ok=True)


def measure(settings: dict[str, str], folder: Path = Path()) -> float:
    """Milliseconds per thousand requests, a mean over all of them."""
    with (
        tempfile.TemporaryDirectory(prefix="redis-", dir=folder) as scratch,
        server(Path(scratch).resolve(), settings) as socket,
    ):
        seconds = sum(number / _rate(socket, command, number) for command, number in LOAD)
    return 1e6 * seconds / sum(number for _, number in LOAD)


def _rate(socket: Path, command: str, number: int) -> float:
    """Requests per second of a command."""
    counts = ["-n", str(number), "-c", str(CLIENTS), "-r", str(KEYS)]
    done = subprocess.run(
        ["redis-benchmark", "-s", str(socket), *counts, "--csv", *command.split()],
        capture_output=True,
        text=True,
        check=False,
    )
    rows = list(csv.DictReader(done.stdout.splitlines()))
    if done.returncode or not rows:
        raise SystemExit(f"redis-benchmark failed: {(done.stderr or done.stdout)[-500:]}")
    return float(rows[0]["rps"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in SETTINGS:
        parser.add_argument(f"--{name}")
    given = vars(parser.parse_args())
    # Turned into an exit, so that the server is stopped after a timeout, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    known = {name: given[name.replace("-", "_")] for name in SETTINGS}
    print(f"{measure({name: one for name, one in known.items() if one is not None}):.4f}")


if __name__ == "__main__":
    main()

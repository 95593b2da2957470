"""Measure PostgreSQL in one configuration: milliseconds per transaction of pgbench.

A server on a socket in the folder `postgresql` beside this file is started with the configuration,
takes pgbench's TPC-B-like transactions and, one in twenty, a report that sorts, and is stopped.
`--prepare` makes the database first. The last line printed is the mean latency.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DEBIAN = Path("/usr/lib/postgresql")
ACCOUNT = "postgres"  # runs the server where this script is run by root, which PostgreSQL refuses
SCALE = 5  # 500,000 accounts, 75 MB
CLIENTS = 4
REPORT = """\\set first random(1, 470000)
SELECT bid, count(DISTINCT abalance) FROM pgbench_accounts
WHERE aid BETWEEN :first AND :first + 30000 GROUP BY bid;
"""
SETTINGS = (
    "shared_buffers",
    "synchronous_commit",
    "wal_compression",
    "max_wal_size",
    "work_mem",
    "random_page_cost",
    "commit_delay",
)


class Server:
    """A PostgreSQL server of its own.

    Args:
        folder: Its folder; the database is in `data` there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        versions = sorted(DEBIAN.glob("*/bin/pgbench"), key=lambda one: int(one.parts[-3]))
        pgbench = str(versions[-1]) if versions else shutil.which("pgbench")
        if pgbench is None:
            raise SystemExit("PostgreSQL is not installed: no program is named pgbench")
        self._programs = Path(pgbench).parent
        # The path of a socket has at most 107 characters.
        self._socket = Path(tempfile.gettempdir()) / f"surefoot-live-{os.getuid()}"

    def call(self, program: str, *arguments: str) -> str:
        """The output of a program of PostgreSQL."""
        account: dict[str, Any] = {}
        if os.getuid() == 0:
            account = {"user": ACCOUNT, "group": ACCOUNT, "extra_groups": []}
        with tempfile.TemporaryFile() as output:  # not a pipe, which the server would keep open
            done = subprocess.run(
                [self._programs / program, *arguments],
                cwd=self._folder,
                env=os.environ | {"PGHOST": str(self._socket), "PGUSER": "surefoot"},
                stdout=output,
                stderr=subprocess.STDOUT,
                **account,
            )
            output.seek(0)
            text = output.read().decode(errors="replace")
        if done.returncode:
            raise SystemExit(f"{program} failed: {text[-500:]}")
        return text

    def prepare(self) -> None:
        """Make the database, unless there is one."""
        if (self._folder / "data").exists():
            return
        self._folder.mkdir(exist_ok=True)
        if os.getuid() == 0:
            shutil.chown(self._folder, ACCOUNT)
        self.call("initdb", "-D", "data", "-U", "surefoot", "-A", "trust")
        (self._folder / "report.sql").write_text(REPORT)
        self.start({})
        try:
            self.call("pgbench", "-i", "-q", "-s", str(SCALE), "postgres")
        finally:
            self.stop()

    def start(self, settings: dict[str, str]) -> None:
        """Start the server."""
        self._socket.mkdir(exist_ok=True)
        if os.getuid() == 0:
            shutil.chown(self._socket, ACCOUNT)
        options = [f"-k {self._socket}", "-c listen_addresses="]
        options += [f"-c {name}={value}" for name, value in settings.items()]
        self.call("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", " ".join(options), "start")

    def stop(self) -> None:
        """Stop the server."""
        self.call("pg_ctl", "-D", "data", "-w", "-m", "fast", "stop")

    def latency(self, seconds: int) -> float:
        """Mean latency of pgbench's transactions, in milliseconds."""
        mix = ["-b", "tpcb-like@19", "-f", "report.sql@1"]
        load = ["-c", str(CLIENTS), "-j", "1", "-T", str(seconds)]
        output = self.call("pgbench", *mix, *load, "--random-seed=0", "postgres")
        found = re.search(r"latency average = ([\d.]+) ms", output)
        if found is None:
            raise SystemExit(f"pgbench printed no latency: {output[-500:]}")
        return float(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=HERE / "postgresql")
    parser.add_argument("--prepare", action="store_true", help="make the database, and end")
    parser.add_argument("--seconds", type=int, default=2, help="of transactions")
    for name in SETTINGS:
        parser.add_argument(f"--{name.replace('_', '-')}")
    given = vars(parser.parse_args())
    # Turned into an exit, so that the server is stopped after a timeout, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    server = Server(given["folder"].resolve())
    if given["prepare"]:
        return server.prepare()
    server.start({name: given[name] for name in SETTINGS if given[name] is not None})
    try:
        print(server.latency(given["seconds"]))
    finally:
        server.stop()


if __name__ == "__main__":
    main()

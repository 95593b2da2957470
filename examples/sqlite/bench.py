"""Measure SQLite in one configuration: milliseconds per thousand operations.

An operation finds a row by an indexed key, rewrites it, and inserts a new one at a random key;
operations are committed `--batch` at a time. The database is in a temporary folder inside the
current one (the system's temporary folder may be in memory, where syncing to disk is free), which
is removed when the measurement ends. The last line printed is the measurement.
"""

import argparse
import random
import signal
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

BODY = bytes(200)
PAGE_SIZES = [2**power for power in range(9, 17)]  # SQLite silently ignores all others


@dataclass(frozen=True)
class Setting:
    """What is tuned. The defaults here are SQLite's own, with a commit per operation."""

    page_size: int = 4096  # bytes
    cache_mb: float = 2.0
    sync: str = "FULL"
    journal: str = "DELETE"
    batch: int = 1  # operations per commit


def measure(
    setting: Setting,
    *,
    seconds: float = 0.2,  # of timed work, without the preparation of the database
    rows: int = 100_000,  # in the table before the clock starts
    folder: Path = Path(),
) -> float:
    """Milliseconds per thousand operations, a mean over `seconds` of work."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=folder) as scratch:
        file = Path(scratch) / "bench.db"
        with closing(sqlite3.connect(file, isolation_level=None)) as database:
            _fill(database, setting.page_size, rows)
        with closing(sqlite3.connect(file, isolation_level=None)) as database:
            _configure(database, setting)
            return _work(database, setting.batch, seconds)


def _fill(database: sqlite3.Connection, page_size: int, rows: int) -> None:
    database.execute(f"PRAGMA page_size = {page_size}")
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA synchronous = OFF")
    database.execute("CREATE TABLE event (id INTEGER PRIMARY KEY, key INTEGER, body BLOB)")
    database.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
        "INSERT INTO event SELECT i, i * 2654435761 % 4294967296, ? FROM n",
        (rows, BODY),
    )
    database.execute("CREATE INDEX event_key ON event (key)")


def _configure(database: sqlite3.Connection, setting: Setting) -> None:
    database.execute(f"PRAGMA journal_mode = {setting.journal}")
    database.execute(f"PRAGMA synchronous = {setting.sync}")
    # A negative cache size counts kibibytes, a positive one counts pages.
    database.execute(f"PRAGMA cache_size = {-max(1, round(setting.cache_mb * 1024))}")


def _work(database: sqlite3.Connection, batch: int, seconds: float) -> float:
    keys = random.Random(0)
    operations, spent = 0, 0.0
    # For a fixed time rather than a fixed count, so that slow configurations cost no more.
    while spent < seconds:
        drawn = [keys.getrandbits(32) for _ in range(batch)]
        began = time.perf_counter()
        database.execute("BEGIN IMMEDIATE")
        for key in drawn:
            found = database.execute(
                "SELECT id FROM event WHERE key >= ? LIMIT 1", (key,)
            ).fetchone()
            if found is not None:
                database.execute("UPDATE event SET body = ? WHERE id = ?", (BODY, found[0]))
            database.execute("INSERT INTO event (key, body) VALUES (?, ?)", (key, BODY))
        database.execute("COMMIT")
        spent += time.perf_counter() - began
        operations += batch
    # The work that a WAL journal defers counts, too; without one this does nothing.
    began = time.perf_counter()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    spent += time.perf_counter() - began
    return 1e6 * spent / operations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--page-size",
        type=int,
        choices=PAGE_SIZES,
        default=Setting.page_size,
        help="bytes",
    )
    parser.add_argument("--cache-mb", type=float, default=Setting.cache_mb)
    parser.add_argument("--sync", choices=["OFF", "NORMAL", "FULL", "EXTRA"], default=Setting.sync)
    parser.add_argument(
        "--journal",
        choices=["DELETE", "TRUNCATE", "PERSIST", "WAL"],
        default=Setting.journal,
    )
    parser.add_argument("--batch", type=int, default=Setting.batch, help="operations per commit")
    parser.add_argument("--seconds", type=float, default=0.2, help="of timed work")
    given = parser.parse_args()
    if given.batch < 1:
        parser.error(f"--batch is {given.batch}, expected at least 1")

    # Turned into an exit, so that the temporary folder is removed even after a timeout.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    setting = Setting(given.page_size, given.cache_mb, given.sync, given.journal, given.batch)
    print(f"{measure(setting, seconds=given.seconds):.3f}")


if __name__ == "__main__":
    main()

"""One process at a time chooses a configuration: the lock of a study, also between machines."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import IO

from surefoot.tune import system
from surefoot.tune.plain_text import printable
from surefoot.tune.study.location import Location
from surefoot.tune.system import PATIENCE


@contextlib.contextmanager
def study_lock(location: Location, sleep: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """Exclude the other processes that tune the same study.

    On one machine the study file itself is locked, read-only, so that no lock file is left behind
    and the lock ends with its process, even by `kill -9`. (`filelock` needs a file that it may
    write to.) The storage is locked, too, for other study files: its file by `storage_lock`, and on
    a PostgreSQL server the study, so that processes of all machines exclude each other. If
    another process holds a lock for long, a message says so, once.

    Args:
        location: The study file and its storage.
        sleep: Waits between attempts, in seconds.

    Raises:
        SQLAlchemyError: If the database server cannot be used.
    """
    path = location.study_file.path
    note = partial(_note_waiting, location.say, path.name)
    with path.open("rb") as file:
        # A file system without locks is treated like processes on several machines.
        with contextlib.suppress(OSError):
            _lock(file, note)
        with location.lock(sleep, note):
            yield


@contextlib.contextmanager
def storage_lock(storage: Path, note: Callable[[], None]) -> Iterator[None]:
    """Exclude the processes that use a storage file by other study files.

    A hidden file beside it is locked, which is there only while it is: the storage itself is locked
    by SQLite and Optuna, whose locks end when another descriptor of the file is closed.

    Args:
        storage: The file, which need not exist.
        note: Called once the lock was waited for for `PATIENCE` seconds.
    """
    file = _locked(Path(os.path.realpath(storage)), note)
    try:
        yield
    finally:
        if file is not None:
            with contextlib.suppress(OSError):
                os.unlink(file.name)
            file.close()


def _locked(storage: Path, note: Callable[[], None]) -> IO[bytes] | None:
    """The open file that is locked for a storage; None where there can be none."""
    path = storage.with_name(f".{storage.name[:60]}.lock")
    while True:
        with contextlib.ExitStack() as stack:
            try:
                file = stack.enter_context(path.open("ab"))
                _lock(file, note)
                # Not if the last process has removed the file that this one has waited for.
                if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    stack.pop_all()
                    return file
            except FileNotFoundError:
                if not path.parent.is_dir():
                    return None
            except OSError:  # no permission, or no locks
                return None


def _lock(file: IO[bytes], note: Callable[[], None]) -> None:
    if system.try_lock(file.fileno()):
        return
    noting = threading.Timer(PATIENCE, note)
    noting.daemon = True
    noting.start()
    try:
        system.lock(file.fileno())
    finally:
        noting.cancel()


@cache
def _note_waiting(say: Callable[[str], None], name: str) -> None:
    """Say it once in a process: with many workers it is usual."""
    say(
        printable(
            f"{name}: waiting for another process, which is choosing a configuration or is "
            "suspended while it does"
        )
    )

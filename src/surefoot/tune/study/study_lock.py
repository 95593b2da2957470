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
from surefoot.tune.study.server_outage import OUTAGES

PATIENCE = 10.0  # seconds of waiting without a message


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
    study_file = location.study_file
    with study_file.path.open("rb") as file:
        # A file system without locks is treated like processes on several machines.
        with contextlib.suppress(OSError):
            _lock(file, study_file.path.name)
        with location.lock(sleep, partial(_note_waiting, study_file.path.name)):
            yield


@contextlib.contextmanager
def storage_lock(storage: Path) -> Iterator[None]:
    """Exclude the processes that use a storage file by other study files.

    A hidden file beside it is locked, which is there only while it is: the storage itself is locked
    by SQLite and Optuna, whose locks end when another descriptor of the file is closed.

    Args:
        storage: The file, which need not exist.
    """
    file = _locked(Path(os.path.realpath(storage)))
    try:
        yield
    finally:
        if file is not None:
            with contextlib.suppress(OSError):
                os.unlink(file.name)
            file.close()


def _locked(storage: Path) -> IO[bytes] | None:
    """The open file that is locked for a storage; None where there can be none."""
    path = storage.with_name(f".{storage.name[:60]}.lock")
    while True:
        with contextlib.ExitStack() as stack:
            try:
                file = stack.enter_context(path.open("ab"))
                _lock(file, storage.name)
                # Not if the last process has removed the file that this one has waited for.
                if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    stack.pop_all()
                    return file
            except FileNotFoundError:
                if not path.parent.is_dir():
                    return None
            except OSError:  # no permission, or no locks
                return None


def _lock(file: IO[bytes], name: str) -> None:
    if system.try_lock(file.fileno()):
        return
    noting = threading.Timer(PATIENCE, _note_waiting, [name])
    noting.daemon = True
    noting.start()
    try:
        system.lock(file.fileno())
    finally:
        noting.cancel()


@cache
def _note_waiting(name: str) -> None:
    """Say it once in a process: with many workers it is usual."""
    OUTAGES.say(
        printable(
            f"{name}: waiting for another process, which is choosing a configuration or is "
            "suspended while it does"
        )
    )

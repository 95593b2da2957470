"""One process at a time chooses a configuration: the lock of a study, also between machines."""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import IO

from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from surefoot.tune import system
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.plain_text import printable
from surefoot.tune.study.server_outage import OUTAGES
from surefoot.tune.study.storage import Location, server_options, unanswered

PAUSE = 0.05  # seconds between attempts to get the lock of a database server
PATIENCE = 10.0  # seconds of waiting without a message
# The server releases a lock when its connection ends. It notices the end of a process at once, and
# the end of a machine after these seconds without an answer.
_POSTGRESQL = (
    "SELECT set_config('tcp_keepalives_idle', '30', false), "
    "set_config('tcp_keepalives_interval', '10', false), "
    "set_config('tcp_keepalives_count', '3', false), pg_try_advisory_lock(:key)"
)
_MYSQL = "SELECT GET_LOCK(:name, 0)"
_LOCKS = {
    "postgresql": (_POSTGRESQL, "SELECT pg_advisory_unlock(:key)"),
    "mysql": (_MYSQL, "SELECT RELEASE_LOCK(:name)"),
    "mariadb": (_MYSQL, "SELECT RELEASE_LOCK(:name)"),
}
_ENGINES: dict[URL, Engine] = {}


@contextlib.contextmanager
def study_lock(location: Location, sleep: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """Exclude the other processes that tune the same study.

    On one machine the study file itself is locked, read-only, so that no lock file is left behind
    and the lock ends with its process, even by `kill -9`. (`filelock` needs a file that it may
    write to.) If the storage is a PostgreSQL or MySQL server, the study is also locked there, so
    that processes of all machines exclude each other. If another process holds a lock for long, a
    message says so, once.

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
        if location.url.get_backend_name() not in _LOCKS:
            yield
            return
        try:
            engine = _engine(location)
        except Exception:  # of the URL: opening the storage raises it again, and explains it
            yield
            return
        with _server_lock(engine, study_file, sleep):
            yield


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


@contextlib.contextmanager
def _server_lock(
    engine: Engine, study_file: StudyFile, sleep: Callable[[float], None]
) -> Iterator[None]:
    lock, unlock = _LOCKS[engine.url.get_backend_name()]
    name = f"surefoot {engine.url.database} {study_file.study.name}"
    digest = hashlib.sha256(name.encode()).digest()[:7]
    key: dict[str, int | str] = {
        "key": int.from_bytes(digest, "big"),
        "name": f"surefoot-{digest.hex()}",
    }
    with _locked_connection(engine, study_file, partial(_is_true, lock, key), sleep) as connection:
        try:
            yield
        finally:
            try:
                _is_true(unlock, key, connection)
            except SQLAlchemyError:
                connection.invalidate()  # the server releases the lock with the connection


def _locked_connection(
    engine: Engine,
    study_file: StudyFile,
    try_lock: Callable[[Connection], bool],
    sleep: Callable[[float], None],
) -> Connection:
    """A connection that holds the lock; the next one if the server ends one that waits for it."""
    due = time.monotonic() + PATIENCE
    while True:
        connection = engine.connect()
        try:
            while not try_lock(connection):
                if time.monotonic() >= due:
                    _note_waiting(study_file.path.name)
                sleep(PAUSE)
        except BaseException as error:
            connection.close()
            if not (isinstance(error, DBAPIError) and error.connection_invalidated):
                raise
        else:
            return connection


def _is_true(statement: str, key: dict[str, int | str], connection: Connection) -> bool:
    used = {name: value for name, value in key.items() if f":{name}" in statement}
    return bool(connection.execute(text(statement), used).one()[-1])


def _engine(location: Location) -> Engine:
    """The engine of a location's server, the same for each call."""
    url = location.url
    if url not in _ENGINES:
        # Without transactions: servers end a session that has had one open for too long.
        engine = create_engine(
            url, isolation_level="AUTOCOMMIT", pool_size=1, **server_options(url)
        )
        OUTAGES.wait_at(engine, partial(unanswered, location), connected=False)
        _ENGINES[url] = engine
    return _ENGINES[url]

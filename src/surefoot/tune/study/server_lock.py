"""The lock of a study on a database server, which excludes processes of other machines."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from surefoot.tune.study.server_outage import OUTAGES

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

    from surefoot.tune.study.server import Server

PAUSE = 0.05  # seconds between attempts to get the lock
PATIENCE = 10.0  # seconds of waiting without a message
# The server releases a lock when its connection ends. It notices the end of a process at once, and
# the end of a machine after these seconds without an answer.
_LOCK = (
    "SELECT set_config('tcp_keepalives_idle', '30', false), "
    "set_config('tcp_keepalives_interval', '10', false), "
    "set_config('tcp_keepalives_count', '3', false), pg_try_advisory_lock(:key)"
)
_UNLOCK = "SELECT pg_advisory_unlock(:key)"
_ENGINES: dict[URL, Engine] = {}


@contextlib.contextmanager
def server_lock(
    server: Server, sleep: Callable[[float], None], note: Callable[[], None]
) -> Iterator[None]:
    """Exclude the processes of all machines that tune a study on a PostgreSQL server.

    Args:
        server: The server; others are not locked.
        sleep: Waits between attempts, in seconds.
        note: Called while the lock is waited for, from `PATIENCE` seconds on.

    Raises:
        SQLAlchemyError: If the server cannot be used.
    """
    url = server.url
    if url.get_backend_name() != "postgresql":
        yield
        return
    try:
        engine = _engine(server)
    except Exception:  # of the URL: opening the storage raises it again, and explains it
        yield
        return
    name = f"surefoot {url.database} {server.study_file.study.name}"
    key = int(hashlib.sha256(name.encode()).hexdigest()[:14], 16)
    with _locked_connection(engine, partial(_is_true, _LOCK, key), sleep, note) as connection:
        try:
            yield
        finally:
            try:
                _is_true(_UNLOCK, key, connection)
            except SQLAlchemyError:
                connection.invalidate()  # the server releases the lock with the connection


def _locked_connection(
    engine: Engine,
    try_lock: Callable[[Connection], bool],
    sleep: Callable[[float], None],
    note: Callable[[], None],
) -> Connection:
    """A connection that holds the lock; the next one if the server ends one that waits for it."""
    due = time.monotonic() + PATIENCE
    while True:
        connection = engine.connect()
        try:
            while not try_lock(connection):
                if time.monotonic() >= due:
                    note()
                sleep(PAUSE)
        except BaseException as error:
            connection.close()
            if not (isinstance(error, DBAPIError) and error.connection_invalidated):
                raise
        else:
            return connection


def _is_true(statement: str, key: int, connection: Connection) -> bool:
    return bool(connection.execute(text(statement), {"key": key}).one()[-1])


def _engine(server: Server) -> Engine:
    """The engine of a URL, which keeps a connection: the same for all study files that name it."""
    if server.url not in _ENGINES:
        # Without transactions: servers end a session that has had one open for too long.
        engine = server.engine(isolation_level="AUTOCOMMIT", pool_size=1)
        OUTAGES.wait_at(engine, server.unanswered, connected=False)
        _ENGINES[server.url] = engine
    return _ENGINES[server.url]

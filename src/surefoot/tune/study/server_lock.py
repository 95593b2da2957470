"""The lock of a study on a database server, which excludes processes of other machines."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator
from functools import partial

from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from surefoot.tune.study.server_outage import OUTAGES
from surefoot.tune.study.storage import Location, server_options, unanswered

PAUSE = 0.05  # seconds between attempts to get the lock
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
def server_lock(
    location: Location, sleep: Callable[[float], None], note: Callable[[], None]
) -> Iterator[None]:
    """Exclude the processes of all machines that tune a study on a PostgreSQL or MySQL server.

    Args:
        location: The study file and its server; others are not locked.
        sleep: Waits between attempts, in seconds.
        note: Called while the lock is waited for, from `PATIENCE` seconds on.

    Raises:
        SQLAlchemyError: If the server cannot be used.
    """
    url = location.url
    if url.get_backend_name() not in _LOCKS:
        yield
        return
    try:
        engine = _engine(location)
    except Exception:  # of the URL: opening the storage raises it again, and explains it
        yield
        return
    lock, unlock = _LOCKS[url.get_backend_name()]
    name = f"surefoot {url.database} {location.study_file.study.name}"
    digest = hashlib.sha256(name.encode()).digest()[:7]
    key: dict[str, int | str] = {
        "key": int.from_bytes(digest, "big"),
        "name": f"surefoot-{digest.hex()}",
    }
    with _locked_connection(engine, partial(_is_true, lock, key), sleep, note) as connection:
        try:
            yield
        finally:
            try:
                _is_true(unlock, key, connection)
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

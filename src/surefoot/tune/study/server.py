"""A study on a database server."""

from __future__ import annotations

import contextlib
import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from typing import Any, ClassVar

from optuna.storages import BaseStorage, RDBStorage
from sqlalchemy import Connection, Engine, create_engine, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.plain_text import shown_storage
from surefoot.tune.study.location import Location, NoStudy, failures
from surefoot.tune.study.optuna_schema import TABLES
from surefoot.tune.system import PATIENCE, PAUSE

_EXPECTED = "postgresql://, mysql://, sqlite:/// or journal:///FILE"
_PLAIN = re.compile(r"[\w .~/+-]*")
# SQLAlchemy ends a password at the first `@`.
_AFTER_PASSWORD = re.compile(r"[^:]*://(?:[^:/]*:[^@]*@)?(.*)", re.DOTALL)
# By these a connection to a machine that is gone is an error after about a minute, not after hours.
_LIBPQ = {
    "connect_timeout": 30,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,  # milliseconds
}
# The server releases a lock when its connection ends. It notices the end of a process at once, and
# the end of a machine after these seconds without an answer.
_LOCK = (
    "SELECT set_config('tcp_keepalives_idle', '30', false), "
    "set_config('tcp_keepalives_interval', '10', false), "
    "set_config('tcp_keepalives_count', '3', false), pg_try_advisory_lock(:key)"
)
_UNLOCK = "SELECT pg_advisory_unlock(:key)"


@dataclass(frozen=True)
class Server(Location):
    """A database server.

    Args:
        study_file: The study file.
        url: Its URL.
    """

    url: URL
    shared: ClassVar[bool] = True

    @property
    def label(self) -> str:
        """The URL without a password and options."""
        url = self.url.set(query={})
        parts = (url.username or "", url.host or "", url.database or "")
        if not all(map(_PLAIN.fullmatch, parts)):  # mistyped, so that any of it may be a password
            return f"{url.drivername}://***"
        return self.study_file.hide_passwords(url.render_as_string(hide_password=True))

    def options(self) -> dict[str, Any]:
        """Arguments of SQLAlchemy's `create_engine`.

        Connections that the server has closed, as by a restart, are opened anew, and options of the
        URL take precedence.
        """
        url = self.url
        libpq = url.drivername in ("postgresql", "postgresql+psycopg", "postgresql+psycopg2")
        given = {name: value for name, value in _LIBPQ.items() if libpq and name not in url.query}
        return {"pool_pre_ping": True, "connect_args": given}

    def engine(self, **options: Any) -> Engine:
        """An engine of the server, which is not connected yet."""
        return create_engine(self.url, **options, **self.options())

    def check(self) -> None:
        """Check that the driver is known and installed."""
        with self.opening(), self._driver():
            self.engine().dispose()

    def connect(self, *, create: bool) -> BaseStorage:
        """Open the database; see `Location.connect`."""
        # Optuna takes the URL for a template.
        url = self.url.render_as_string(hide_password=False)
        url = url.replace("{", "{{").replace("}", "}}")
        with self.opening(), self._driver():
            try:
                storage = RDBStorage(url, self.options(), skip_table_creation=not create)
            except failures():
                if create or self._has_tables():
                    raise
                raise NoStudy(
                    f"{self.label}: contains no study yet; {self.study_file.first_step}"
                ) from None
        if create:  # to tune; whoever looks at a study is told at once
            # Optuna warns, with the statement, of what is tried again here.
            logging.getLogger("optuna.storages").setLevel(logging.ERROR)
        return storage

    @cached_property
    def _locks(self) -> Engine:
        """The engine of the lock's connection, without transactions: servers end idle ones.

        None is kept: another process may need it, where a server allows few.
        """
        engine = self.engine(isolation_level="AUTOCOMMIT", poolclass=NullPool)
        engine.connect().close()
        return engine

    @contextlib.contextmanager
    def lock(self, sleep: Callable[[float], None], note: Callable[[], None]) -> Iterator[None]:
        """Exclude the processes of all machines, on a PostgreSQL server; see `Location.lock`."""
        url = self.url
        if url.get_backend_name() != "postgresql":
            yield
            return
        with self.opening(), self._driver():
            engine = self._locks
        name = f"surefoot {url.database} {self.study_file.study.name}"
        key, due = int(sha256(name.encode()).hexdigest()[:14], 16), time.monotonic() + PATIENCE
        with engine.connect() as connection:
            while not _is_true(_LOCK, key, connection):
                if time.monotonic() >= due:
                    note()
                sleep(PAUSE)
            try:
                yield
            finally:
                try:
                    _is_true(_UNLOCK, key, connection)
                except SQLAlchemyError:
                    connection.invalidate()  # the server releases the lock with the connection

    @contextlib.contextmanager
    def _driver(self) -> Iterator[None]:
        """Turn errors about a driver that is not known or not installed into `StudyFileError`."""
        try:
            yield
        except (NoSuchModuleError, ImportError) as error:
            todo = (
                "install the driver (`pip install 'psycopg[binary]'` for postgresql://, "
                "mysqlclient for mysql://), or name another one, such as postgresql+psycopg2://"
                if isinstance(error, ImportError)
                else f"expected {_EXPECTED}"
            )
            raise self.error(f"{self.label}: {self.reason(error)}; {todo}") from None

    def _has_tables(self) -> bool:
        """Whether the database has Optuna's tables; true if that cannot be seen."""
        try:
            return inspect(self.engine()).has_table(TABLES[-1])
        except SQLAlchemyError:
            return True


def _is_true(statement: str, key: int, connection: Connection) -> bool:
    return bool(connection.execute(text(statement), {"key": key}).one()[-1])


def server_of(study_file: StudyFile, given: str) -> Server:
    """The server of a URL.

    Raises:
        StudyFileError: If the URL cannot be parsed, or is none of a server.
    """
    error, got = partial(study_file.error, "study.storage"), f"got {shown_storage(given)}"
    try:
        url = make_url(given)
        backend = url.get_backend_name()
    except (ArgumentError, ValueError):
        expected = "an Optuna storage URL, SCHEME://USER:PASSWORD@HOST:PORT/NAME"
        raise error(f"{got}, expected {expected}") from None
    if backend in ("redis", "rediss", "grpc"):
        raise error(
            f"{got}, which Optuna opens from Python only, not from a URL; expected {_EXPECTED}"
        )
    if url.drivername in ("sqlite", "sqlite+pysqlite", "journal"):
        raise error(f"{got}, expected {backend}:///FILE, without a host and options")
    if _cuts_password(given, url):
        raise error(
            "got a URL whose host, name or options contain `@`: write each `@` of a password as %40"
        )
    return Server(study_file, url)


def _cuts_password(given: str, url: URL) -> bool:
    """Whether a part of a password may be where the host, the database or the options are.

    That part would be looked up as the name of a host, and drivers print it.
    """
    if url.get_backend_name() != "sqlite" and "@" in f"{url.host}{url.database}":
        return True
    after = _AFTER_PASSWORD.match(given)
    return url.password is not None and after is not None and "@" in after[1]

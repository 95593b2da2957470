"""The Optuna storage of a study: created on request, otherwise opened without changing it."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import optuna
from optuna.storages import BaseStorage, RDBStorage
from optuna.trial import FrozenTrial

from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.plain_text import shown, shown_storage
from surefoot.tune.study.journal import create_journal, open_journal
from surefoot.tune.study.optuna_schema import is_current, unchecked
from surefoot.tune.study.server_outage import OUTAGES
from surefoot.types import SurefootError

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

BUSY_SECONDS = 60  # to wait for another process's write to an SQLite file
_PLAIN = re.compile(r"[\w .~/+-]*")
# SQLAlchemy ends a password at the first `@`.
_AFTER_PASSWORD = re.compile(r"[^:]*://(?:[^:/]*:[^@]*@)?(.*)", re.DOTALL)
_FILE = re.compile(r"(sqlite|sqlite\+pysqlite|journal):///([^?]+)", re.DOTALL)
# By these a connection to a machine that is gone is an error after about a minute, not after hours.
_LIBPQ = {
    "connect_timeout": 30,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,  # milliseconds
}
# What Optuna and drivers raise for content that is not theirs, such as an infinite integer.
_UNREADABLE = (
    *(TypeError, ValueError, ArithmeticError),
    *(LookupError, AttributeError, AssertionError),
)
OPTUNA_TABLES = (
    *("studies", "study_directions", "study_user_attributes", "study_system_attributes"),
    *("trials", "trial_params", "trial_values", "trial_user_attributes"),
    *("trial_system_attributes", "version_info"),
)


class NoStudy(StudyFileError):
    """The study does not exist yet."""


class StorageFailed(SurefootError):
    """The storage could not be read or written, though the study file is in order."""


@dataclass(frozen=True)
class Location:
    """A storage: the file of an SQLite database or an Optuna journal, or a database server.

    SQLAlchemy, which takes half of the time in which a command starts, is imported for a server's
    URL and for databases only.
    """

    study_file: StudyFile
    file: Path | None = None
    journal: bool = False

    @property
    def url(self) -> URL:
        """The URL of a server."""
        from sqlalchemy.engine import make_url

        return make_url(self.study_file.study.storage or "")

    @property
    def label(self) -> str:
        """The storage's name for messages, without a password and options."""
        if self.file is not None:
            return str(self.file)
        url = self.url.set(query={})
        parts = (url.username or "", url.host or "", url.database or "")
        if not all(map(_PLAIN.fullmatch, parts)):  # mistyped, so that any of it may be a password
            return f"{url.drivername}://***"
        return self.study_file.hide_passwords(url.render_as_string(hide_password=True))


def locate(study_file: StudyFile) -> Location:
    """The storage of a study file; relative paths start from its folder.

    Raises:
        StudyFileError: If the URL cannot be parsed.
    """
    given = study_file.study.storage
    if given is None:
        return Location(study_file, _beside(study_file, f"{study_file.study.name}.db"))
    if (of_file := _FILE.fullmatch(given)) is not None:
        scheme, name = of_file.groups()
        return Location(study_file, _beside(study_file, unquote(name)), scheme == "journal")
    return _server(study_file, given)


def _server(study_file: StudyFile, given: str) -> Location:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(given)
        backend, driver = url.get_backend_name(), url.drivername
    except (ArgumentError, ValueError):
        raise study_file.error(
            "study.storage",
            f"got {shown_storage(given)}, expected an Optuna storage URL, "
            "SCHEME://USER:PASSWORD@HOST:PORT/NAME",
        ) from None
    if backend in ("redis", "rediss", "grpc"):
        raise study_file.error(
            "study.storage",
            f"got {shown_storage(given)}, which Optuna opens from Python only, not from a URL; "
            "expected postgresql://, mysql://, sqlite:/// or "
            "journal:///FILE",
        )
    if driver in ("sqlite", "sqlite+pysqlite", "journal"):
        raise study_file.error(
            "study.storage",
            f"got {shown_storage(given)}, expected {backend}:///FILE, without a host and options",
        )
    if _cuts_password(given, url):
        raise study_file.error(
            "study.storage",
            "got a URL whose host, name or options contain `@`: write each `@` of a password "
            "as %40",
        )
    return Location(study_file)


def _beside(study_file: StudyFile, name: str) -> Path:
    """A file by its path from the study file; from the file that it links to if only that exists.

    So a study is found through a symbolic link to its study file.
    """
    here, there = (path.parent / name for path in (study_file.path, study_file.path.resolve()))
    # Unlike `Path.exists`, it is false of a name that no file can have.
    return there if os.path.exists(there) and not os.path.exists(here) else here


def server_options(url: URL) -> dict[str, Any]:
    """Arguments of SQLAlchemy's `create_engine` for a database server.

    Connections that the server has closed, as by a restart, are opened anew, and options of the URL
    take precedence.
    """
    libpq = url.drivername in ("postgresql", "postgresql+psycopg", "postgresql+psycopg2")
    given = {name: value for name, value in _LIBPQ.items() if libpq and name not in url.query}
    return {"pool_pre_ping": True, "connect_args": given}


def _cuts_password(given: str, url: URL) -> bool:
    """Whether a part of a password may be where the host, the database or the options are.

    That part would be looked up as the name of a host, and drivers print it.
    """
    if url.get_backend_name() != "sqlite" and "@" in f"{url.host}{url.database}":
        return True
    after = _AFTER_PASSWORD.match(given)
    return url.password is not None and after is not None and "@" in after[1]


def connect(location: Location, *, create: bool) -> BaseStorage:
    """Open a storage; with `create`, a file that does not exist is created.

    Raises:
        NoStudy: If the file does not exist and `create` is false.
        StudyFileError: If the file is not a storage, or cannot be created.
        StorageFailed: If the storage cannot be read.
    """
    study_file, file = location.study_file, location.file
    if file is None:
        return _open(location, create)
    try:
        size = file.stat().st_size
    except FileNotFoundError:
        size = None
    except OSError as error:
        message = f"{shown(str(file))} cannot be used: {error.strerror}; choose another name"
        raise study_file.error("study.storage", message) from None
    if size is None:
        if not create:
            raise NoStudy(f"{file}: no such storage; {study_file.first_step}")
        _create(location, file)
    elif file.is_dir():
        raise study_file.error("study.storage", f"{file} is a folder, expected a file")
    elif size == 0:
        raise study_file.error(
            "study.storage",
            f"{file} is empty, expected a storage of Optuna; restore it from a copy, or delete it "
            "to begin anew",
        )
    if not location.journal:
        _check_sqlite(study_file, file)
    return _open(location, create)


@contextlib.contextmanager
def storage_errors(location: Location, doing: str) -> Iterator[None]:
    """Turn the errors of a database or a journal into `StorageFailed`, in one line."""
    try:
        yield
    except _failures() as error:
        raise StorageFailed(
            f"{location.label}: {doing} failed: {reason(location, error)}; what was recorded "
            "before is safe, and the same command goes on from there"
        ) from error


# SQLAlchemy is imported by these when something has failed: Python evaluates the expression of an
# `except` clause only then.
def _unknown_drivers() -> tuple[type[Exception], ...]:
    """Errors where a driver is not known or not installed."""
    from sqlalchemy.exc import NoSuchModuleError

    return NoSuchModuleError, ImportError


def _failures() -> tuple[type[Exception], ...]:
    """Errors of databases and journals."""
    from sqlalchemy.exc import SQLAlchemyError

    optunas = optuna.exceptions.StorageInternalError
    return SQLAlchemyError, optunas, sqlite3.Error, OSError, UnicodeError, json.JSONDecodeError


@contextlib.contextmanager
def readable(location: Location, what: str) -> Iterator[None]:
    """Turn Optuna's errors about what is damaged in a storage into `StudyFileError`."""
    try:
        yield
    except (UnicodeError, SurefootError):
        raise
    except _UNREADABLE as error:
        raise location.study_file.error(
            "study.storage",
            f"{location.label}: {what} cannot be read: {reason(location, error)}; restore the "
            "storage from a copy",
        ) from error


def has_study(storage: BaseStorage, location: Location, name: str) -> bool:
    """Whether a storage has a study; by one query, where `study_names` takes six."""
    with readable(location, "the study"):
        try:
            storage.get_study_id_from_name(name)
        except KeyError:
            return False
        return True


def study_names(storage: BaseStorage, location: Location) -> list[str]:
    """Names of the studies in a storage; `StudyFileError` if one is damaged."""
    with readable(location, "the study"):
        return optuna.get_all_study_names(storage)


def readable_trials(study: optuna.Study, location: Location) -> list[FrozenTrial]:
    """The trials; `StudyFileError` if one is damaged."""
    with readable(location, "a trial"):
        trials = study.get_trials(deepcopy=False)
        for trial in trials:
            for value in trial.values or ():
                math.isnan(value)  # raises: SQLite keeps texts in columns of numbers
            if not all(isinstance(name, str) for name in trial.params):
                raise TypeError(f"trial {trial.number} has a parameter without a name")
        return trials


def reason(location: Location, error: BaseException) -> str:
    """The database's own message, without the statement, the chain of exceptions and passwords."""
    cause: BaseException = error
    while (inner := getattr(cause, "orig", None) or cause.__cause__) is not None:
        cause = inner
    lines = str(cause).strip().splitlines()
    text = lines[0] if lines else type(cause).__name__
    return location.study_file.hide_passwords(text)[:300]


def unanswered(location: Location, error: BaseException) -> str:
    """Message that the server cannot be connected, with the reason."""
    return f"{location.label}: cannot connect to the server: {reason(location, error)}"


def refused(location: Location, doing: str, error: BaseException) -> str:
    """Message that the database does not accept a statement for now, with the reason."""
    return f"{location.label}: {doing} has to wait: {reason(location, error)}"


def check_location(location: Location) -> None:
    """Check that a storage could be created here; a server is not connected.

    Raises:
        StudyFileError: If its driver is not known or installed, or its folder not writable.
    """
    if location.file is None:
        from sqlalchemy import create_engine

        with _known(location):
            create_engine(location.url, **server_options(location.url)).dispose()
    elif not (folder := location.file.parent).is_dir() or not os.access(folder, os.W_OK):
        why = "no permission to write there" if folder.is_dir() else f"no folder {folder}"
        raise location.study_file.error("study.storage", f"cannot create {location.file}: {why}")


@contextlib.contextmanager
def _known(location: Location) -> Iterator[None]:
    """Turn errors about the URL and its driver into `StudyFileError`."""
    try:
        yield
    except _unknown_drivers() as error:
        todo = "expected postgresql://, mysql://, sqlite:/// or journal:///FILE"
        if isinstance(error, ImportError):
            todo = (
                "install the driver (`pip install psycopg2-binary` for postgresql://, mysqlclient "
                "for mysql://), or name another one, such as mysql+pymysql://"
            )
        message = f"{location.label}: {reason(location, error)}; {todo}"
        raise location.study_file.error("study.storage", message) from None
    except _UNREADABLE as error:
        # What the URL's options make of a driver's arguments, and what is no journal.
        raise location.study_file.error(
            "study.storage",
            f"{location.label}: cannot be opened: {reason(location, error)}; expected a storage "
            "of Optuna, and options that its driver knows",
        ) from None


def _open(location: Location, create: bool) -> BaseStorage:
    try:
        with _known(location):
            return _opened(location, create)
    except StudyFileError:
        raise
    except Exception as error:  # drivers have errors of their own
        if location.file is None and not create and not _has_tables(location):
            raise NoStudy(
                f"{location.label}: contains no study yet; {location.study_file.first_step}"
            ) from None
        raise StorageFailed(
            f"{location.label}: cannot be opened: {reason(location, error)}"
        ) from None


def _opened(location: Location, create: bool) -> BaseStorage:
    if location.file is None:
        url = location.url.render_as_string(hide_password=False)
        # Optuna takes the URL for a template.
        url = url.replace("{", "{{").replace("}", "}}")
        options = server_options(location.url)
        storage = RDBStorage(url, options, skip_table_creation=not create)
        if create:  # to tune; whoever looks at a study is told at once
            # Optuna warns, with the statement, of what is tried again here.
            logging.getLogger("optuna.storages").setLevel(logging.ERROR)
            OUTAGES.wait_at(storage.engine, partial(unanswered, location), connected=True)
        return storage
    if location.journal:
        return open_journal(location.file)
    return _sqlite(location.file, create)


def _has_tables(location: Location) -> bool:
    """Whether a database has Optuna's tables; true if that cannot be seen."""
    from sqlalchemy import create_engine, inspect
    from sqlalchemy.exc import SQLAlchemyError

    try:
        engine = create_engine(location.url, **server_options(location.url))
        return inspect(engine).has_table(OPTUNA_TABLES[-1])
    except SQLAlchemyError:
        return True


def _create(location: Location, file: Path) -> None:
    """Create a storage in one step: a file that is there is complete, whenever this is killed."""
    partial = file.with_name(f".{file.name[:60]}.new")
    study = location.study_file.study
    try:
        for old in (partial, partial.with_name(f"{partial.name}-journal")):
            old.unlink(missing_ok=True)
        if location.journal:
            create_journal(partial, study.name, study.direction)
        else:
            _sqlite(partial, True).engine.dispose()
        if not file.exists():
            partial.rename(file)
    except _failures() as error:
        raise location.study_file.error(
            "study.storage", f"cannot create {file}: {reason(location, error)}"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def _sqlite(file: Path, create: bool) -> RDBStorage:
    # Connected by its path: in a URL, some characters of a path have a meaning.
    def connection() -> sqlite3.Connection:
        return sqlite3.connect(file, timeout=BUSY_SECONDS, check_same_thread=False)

    current = is_current(file)
    with unchecked() if current else contextlib.nullcontext():
        return RDBStorage(
            f"sqlite:///{quote(file.name, safe='')}",
            engine_kwargs={"creator": connection},
            skip_compatibility_check=current,
            skip_table_creation=current or not create,
        )


def _check_sqlite(study_file: StudyFile, file: Path) -> None:
    """Check, without changing it, that an existing file is Optuna's."""
    try:
        with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as base:
            base.text_factory = lambda name: name.decode(errors="replace")
            rows = base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    except UnicodeDecodeError:  # in SQLite's own message, which quotes the file
        raise study_file.error(
            "study.storage", f"{file} is a damaged SQLite file; restore it from a copy"
        ) from None
    except sqlite3.DatabaseError as error:
        # The journal of a killed process cannot be rolled back on a read-only connection; the
        # actual connection does that.
        if isinstance(error, sqlite3.OperationalError):
            return
        raise study_file.error(
            "study.storage", f"{file} is not an SQLite file ({error}); choose another name"
        ) from None
    tables = {name for (name,) in rows}
    missing = [name for name in OPTUNA_TABLES if name not in tables]
    if len(missing) == len(OPTUNA_TABLES):
        found = f"tables {', '.join(sorted(tables)[:3])}" if tables else "without a table"
        raise study_file.error(
            "study.storage",
            f"{file} is an SQLite file of something else ({found}), expected one of Optuna's; "
            "choose another name",
        )
    if missing:
        raise study_file.error(
            "study.storage",
            f"{file} lacks the table {missing[0]} of an Optuna storage; restore it from a copy, "
            "or choose another name",
        )

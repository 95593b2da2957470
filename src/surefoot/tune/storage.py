"""The Optuna storage of a study: created on request, otherwise opened without changing it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import optuna
from optuna.storages import RDBStorage
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from surefoot.tune.study_file import StudyFile, StudyFileError
from surefoot.types import SurefootError

BUSY_SECONDS = 60  # to wait for another process's write to an SQLite file
OPTUNA_TABLES = {"studies", "trials", "version_info"}


class NoStudy(StudyFileError):
    """The study does not exist yet."""


class StorageFailed(SurefootError):
    """The storage could not be read or written, though the study file is in order."""


@dataclass(frozen=True)
class Location:
    """A storage URL; `file` is the database file for SQLite, `label` hides the password."""

    url: URL
    file: Path | None

    @property
    def label(self) -> str:
        return str(self.file) if self.file else self.url.render_as_string(hide_password=True)


def locate(study_file: StudyFile) -> Location:
    """The storage of a study file; relative SQLite paths start from its folder.

    Raises:
        StudyFileError: If the URL cannot be parsed.
    """
    given = study_file.study.storage
    if given is None:
        path = study_file.folder / f"{study_file.study.name}.db"
        return Location(URL.create("sqlite", database=str(path)), path)
    try:
        url = make_url(given)
    except (ArgumentError, ValueError):
        raise study_file.error(
            "study.storage", f"got {given!r}, expected an Optuna storage URL"
        ) from None
    if url.get_backend_name() != "sqlite":
        return Location(url, None)
    path = study_file.folder / (url.database or "")
    return Location(url.set(database=str(path)), path)


def connect(study_file: StudyFile, *, create: bool) -> RDBStorage:
    """Open the storage; with `create`, an SQLite file that does not exist is created.

    Raises:
        NoStudy: If the SQLite file does not exist and `create` is false.
        StudyFileError: If the file is not a storage, or cannot be created.
        StorageFailed: If the storage cannot be read.
    """
    location = locate(study_file)
    fresh = False
    if location.file is not None:
        fresh = not location.file.exists()
        if fresh and not create:
            raise NoStudy(
                f"{location.file}: no such storage; "
                f"run `surefoot tune {study_file.path.name}` first"
            )
        if not fresh:
            _check_sqlite(study_file, location.file)
    options = {"connect_args": {"timeout": BUSY_SECONDS}} if location.file else {}
    try:
        return RDBStorage(
            location.url.render_as_string(hide_password=False),
            engine_kwargs=options,
            skip_table_creation=not create,
        )
    except (NoSuchModuleError, ImportError) as error:
        raise study_file.error("study.storage", f"{location.label}: {error}") from None
    except (SQLAlchemyError, optuna.exceptions.StorageInternalError, RuntimeError) as error:
        if fresh and location.file is not None:
            with contextlib.suppress(OSError):
                location.file.unlink(missing_ok=True)
            raise study_file.error(
                "study.storage", f"cannot create {location.label}: {reason(error)}"
            ) from None
        raise StorageFailed(f"{location.label}: cannot be opened: {reason(error)}") from None


@contextlib.contextmanager
def storage_errors(label: str, doing: str) -> Iterator[None]:
    """Turn database errors into `StorageFailed`, in one line."""
    try:
        yield
    except (SQLAlchemyError, optuna.exceptions.StorageInternalError, sqlite3.Error) as error:
        raise StorageFailed(
            f"{label}: {doing} failed: {reason(error)}; what was recorded before is safe, and the "
            "same command goes on from there"
        ) from error


def reason(error: BaseException) -> str:
    """The database's own message, without the statement and the chain of exceptions."""
    cause: BaseException = error
    while (inner := getattr(cause, "orig", None) or cause.__cause__) is not None:
        cause = inner
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else type(cause).__name__


def _check_sqlite(study_file: StudyFile, file: Path) -> None:
    """Check, without changing it, that an existing file is Optuna's, or empty."""
    if file.is_dir():
        raise study_file.error("study.storage", f"{file} is a folder, expected a file")
    try:
        with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as base:
            rows = base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    except sqlite3.DatabaseError as error:
        # The journal of a killed process cannot be rolled back on a read-only connection; the
        # actual connection does that.
        if isinstance(error, sqlite3.OperationalError):
            return
        raise study_file.error(
            "study.storage", f"{file} is not an SQLite file ({error}); choose another name"
        ) from None
    tables = {name for (name,) in rows}
    if tables and not tables & OPTUNA_TABLES:
        raise study_file.error(
            "study.storage",
            f"{file} is an SQLite file of something else (tables {', '.join(sorted(tables)[:3])}"
            "), expected one of Optuna's; choose another name",
        )

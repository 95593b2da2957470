"""The place where a study is kept: made if need be, opened without touching it otherwise."""

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

BUSY_SECONDS = 60  # how long a worker waits for another one's write to an SQLite file
OPTUNA_TABLES = {"studies", "trials", "version_info"}


class NoStudy(StudyFileError):
    """There is nothing to show yet."""


class StorageFailed(SurefootError):
    """The storage could not be read or written, though the study file is in order."""


@dataclass(frozen=True)
class Location:
    """A storage URL with its parts: `file` is set for SQLite only, `label` hides passwords."""

    url: URL
    file: Path | None

    @property
    def label(self) -> str:
        return str(self.file) if self.file else self.url.render_as_string(hide_password=True)


def locate(study_file: StudyFile) -> Location:
    """Where a study file keeps its study; relative SQLite paths start from its folder.

    Raises `StudyFileError` for a URL that cannot be read.
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
    """The storage. With `create`, an SQLite file that is not there yet is made, else it must exist.

    Raises `NoStudy` when there is no such file, `StudyFileError` when it is no storage or a new one
    cannot be made, `StorageFailed` when it cannot be read.
    """
    place = locate(study_file)
    fresh = False
    if place.file is not None:
        fresh = not place.file.exists()
        if fresh and not create:
            raise NoStudy(
                f"{place.file}: no such storage; run `surefoot tune {study_file.path.name}` first"
            )
        if not fresh:
            _check_sqlite(study_file, place.file)
    options = {"connect_args": {"timeout": BUSY_SECONDS}} if place.file else {}
    try:
        return RDBStorage(
            place.url.render_as_string(hide_password=False),
            engine_kwargs=options,
            skip_table_creation=not create,
        )
    except (NoSuchModuleError, ImportError) as error:
        raise study_file.error("study.storage", f"{place.label}: {error}") from None
    except (SQLAlchemyError, optuna.exceptions.StorageInternalError, RuntimeError) as error:
        if fresh and place.file is not None:
            with contextlib.suppress(OSError):
                place.file.unlink(missing_ok=True)
            raise study_file.error(
                "study.storage", f"cannot make {place.label}: {reason(error)}"
            ) from None
        raise StorageFailed(f"{place.label}: cannot be opened: {reason(error)}") from None


@contextlib.contextmanager
def storage_errors(label: str, doing: str) -> Iterator[None]:
    """Turn what a database raises into `StorageFailed`, in one line."""
    try:
        yield
    except (SQLAlchemyError, optuna.exceptions.StorageInternalError, sqlite3.Error) as error:
        raise StorageFailed(
            f"{label}: {doing} failed: {reason(error)}; what was recorded before is safe, and the "
            "same command goes on from there"
        ) from error


def reason(error: BaseException) -> str:
    """What the database itself said, without the statement and the links around it."""
    cause: BaseException = error
    while (inner := getattr(cause, "orig", None) or cause.__cause__) is not None:
        cause = inner
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else type(cause).__name__


def _check_sqlite(study_file: StudyFile, file: Path) -> None:
    """An existing file must be Optuna's, or empty; looking at it changes nothing."""
    if file.is_dir():
        raise study_file.error("study.storage", f"{file} is a folder, expected a file")
    try:
        with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as base:
            rows = base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    except sqlite3.DatabaseError as error:
        # A journal that a killed process left cannot be rolled back read-only: that is for the
        # real connection to do.
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

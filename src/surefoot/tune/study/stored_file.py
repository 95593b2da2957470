"""Where a study is stored: the storage that a study file names, and studies in files.

A file is an SQLite database or a journal of Optuna.
"""

from __future__ import annotations

import contextlib
import glob
import io
import json
import os
import secrets
import sqlite3
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote, unquote

import optuna
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial

from surefoot.tune import system
from surefoot.tune.definition.study_file import STORED, StudyFile
from surefoot.tune.plain_text import LONGEST_INPUT, shown
from surefoot.tune.study.location import UNREADABLE, Location, Lock, NoStudy, failures
from surefoot.tune.study.optuna_schema import TABLES, is_current, rows, unchecked
from surefoot.tune.study.storage_faults import DAMAGED
from surefoot.tune.study.study_lock import storage_lock
from surefoot.tune.system import ANSWER
from surefoot.types import InvalidInput

SQLITE = b"SQLite format 3\0"  # beginning of its files


@dataclass(frozen=True)
class StoredFile(Location):
    """A file that holds one study.

    Args:
        study_file: The study file.
        file: The file.
    """

    file: Path
    shared: ClassVar[bool] = False

    @abstractmethod
    def make(self) -> None:
        """Create the file, where there is none."""

    @abstractmethod
    def open(self, *, create: bool) -> BaseStorage:
        """Open the file, without changing it if it is something else."""

    @property
    def label(self) -> str:
        """The path."""
        return str(self.file)

    def check(self) -> None:
        """Check that its folder is there and can be written to."""
        folder = self.file.parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            why = "no permission to write there" if folder.is_dir() else f"no folder {folder}"
            raise self.error(f"cannot create {self.file}: {why}")

    def lock(self, sleep: Callable[[float], None], note: Callable[[], None]) -> Lock:
        """Exclude the processes of other study files; other machines have another file."""
        return storage_lock(self.file, note)

    def connect(self, *, create: bool) -> BaseStorage:
        """Open the file; see `Location.connect`."""
        try:
            empty = self.file.stat().st_size == 0
        except FileNotFoundError:
            if not create:
                raise NoStudy(
                    f"{self.file}: no such storage; {self.study_file.first_step}"
                ) from None
            empty = False
            self._create()
        except OSError as error:
            message = f"{shown(self.label)} cannot be used: {error.strerror}; choose another name"
            raise self.error(message) from None
        if self.file.is_dir():
            raise self.error(f"{self.file} is a folder, expected a file")
        if empty:
            raise self.error(
                f"{self.file} is empty, expected a storage of Optuna; restore it from a copy, or "
                "delete it to begin anew"
            )
        with self.opening():
            return self.open(create=create)

    def _create(self) -> None:
        """Create the file in one step: one that is there is complete, whenever this is killed."""
        file = Path(os.path.realpath(self.file))  # to which a link may lead
        name = file.name[:60]
        partial = file.with_name(f".{name}.{secrets.token_hex(4)}.new")
        try:
            for left in file.parent.glob(f".{glob.escape(name)}.*.new*"):  # by a killed process
                left.unlink(missing_ok=True)
            replace(self, file=partial).make()
            with contextlib.suppress(FileExistsError):
                _link(partial, file)
        except failures() as error:
            raise self.error(f"cannot create {self.file}: {self.reason(error)}") from None
        finally:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)


def _link(file: Path, name: Path) -> None:
    """Give a file another name; `FileExistsError` if there is such a file."""
    try:
        name.hardlink_to(file)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if name.exists():
            raise FileExistsError from None
        file.rename(name)


class SQLiteFile(StoredFile):
    """The file of an SQLite database; see `StoredFile`."""

    def make(self) -> None:
        """Create Optuna's tables."""
        self.open(create=True).engine.dispose()

    def open(self, *, create: bool) -> RDBStorage:
        """Open it, if it is Optuna's."""
        self._check_tables()

        # Connected by its path: in a URL, some characters of a path have a meaning.
        def connection() -> sqlite3.Connection:
            return sqlite3.connect(self.file, timeout=ANSWER, check_same_thread=False)

        current = is_current(self.file)
        with unchecked() if current else contextlib.nullcontext():
            return RDBStorage(
                f"sqlite:///{quote(self.file.name, safe='')}",
                engine_kwargs={"creator": connection},
                skip_compatibility_check=current,
                skip_table_creation=current or not create,
            )

    def _check_tables(self) -> None:
        file = self.file
        try:
            found = rows(file, "SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = {name for (name,) in found}
        except UnicodeDecodeError:  # in SQLite's own message, which quotes the file
            raise self.error(f"{file}: {DAMAGED.advice}") from None
        except sqlite3.OperationalError:
            # The journal of a killed process cannot be rolled back on a read-only connection; the
            # actual connection does that.
            return
        except sqlite3.DatabaseError as error:
            if begins(file, SQLITE):
                raise self.error(f"{file}: {error}; {DAMAGED.advice}") from None
            message = f"{file} is not an SQLite file ({error}); choose another name"
            raise self.error(f"{message}, or restore it from a copy if it was one") from None
        missing = [name for name in TABLES if name not in tables]
        if len(missing) == len(TABLES):
            there = f"tables {', '.join(sorted(tables)[:3])}" if tables else "without a table"
            raise self.error(
                f"{file} is an SQLite file of something else ({there}), expected one of Optuna's; "
                "choose another name"
            )
        if missing:
            raise self.error(
                f"{file} lacks the table {missing[0]} of an Optuna storage; restore it from a "
                "copy, or choose another name"
            )


def begins(file: Path, *beginnings: bytes) -> bool:
    """Whether a file can be read and begins with one of some bytes."""
    try:
        with file.open("rb") as content:
            return content.read(max(map(len, beginnings))).startswith(beginnings)
    except OSError:
        return False


class JournalFile(StoredFile):
    """A journal file of Optuna; see `StoredFile`."""

    def make(self) -> None:
        """Create a file with an empty study."""
        self.file.touch()
        study = self.study_file.study
        direction = StudyDirection[study.direction.upper()]
        self.open(create=True).create_new_study([direction], study.name)

    def open(self, *, create: bool) -> BaseStorage:
        """Open an existing file, if its first line is one of a journal."""
        with self.file.open("rb") as content:
            first = content.readline(LONGEST_INPUT)
        if first:  # before anything is written to it
            record = json.loads(first) if first.endswith(b"\n") else None
            if not isinstance(record, dict) or not isinstance(record.get("op_code"), int):
                raise ValueError("its first line is not one of a journal")
        try:
            return JournalStorage(JournalFileBackend(str(self.file), JournalLock(self.file)))
        except UNREADABLE as error:  # in a line after the first, which is one of a journal
            reason = f"{self.label}: cannot be opened: {self.reason(error)}"
            raise self.error(f"{reason}; {DAMAGED.advice}") from None


class JournalLock:
    """Excludes other writers, until it is released or its process dies, also by `kill -9`.

    Optuna's own locks are files, which outlive their process and are broken after 30 seconds. A
    line that a dead process has begun is removed, since what is appended to it could not be read.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._descriptor = -1

    def acquire(self) -> bool:
        """Wait for the lock."""
        self._descriptor = os.open(self._file, os.O_RDWR | getattr(os, "O_BINARY", 0))
        system.lock(self._descriptor)
        self._remove_partial_line()
        return True

    def release(self) -> None:
        """Let others write."""
        os.close(self._descriptor)

    def _remove_partial_line(self) -> None:
        end = size = os.fstat(self._descriptor).st_size
        while end > 0:
            begin = max(0, end - io.DEFAULT_BUFFER_SIZE)
            os.lseek(self._descriptor, begin, os.SEEK_SET)
            newline = os.read(self._descriptor, end - begin).rfind(b"\n")
            if newline >= 0:
                end = begin + newline + 1
                break
            end = begin
        if end < size:
            os.ftruncate(self._descriptor, end)


_JOURNAL = b'{"op_code"'


def locate(study_file: StudyFile) -> Location:
    """The storage of a study file; relative paths start from its folder.

    Raises:
        StudyFileError: If the URL cannot be parsed.
    """
    given = study_file.study.storage
    if given is None:
        return SQLiteFile(study_file, study_file.folder / f"{study_file.study.name}.db")
    if (of_file := STORED.fullmatch(given)) is not None:
        scheme, name = of_file.groups()
        kind = JournalFile if scheme == "journal" else SQLiteFile
        return kind(study_file, study_file.folder / unquote(name))
    # It imports SQLAlchemy, which takes half of the time in which a command starts.
    from surefoot.tune.study.server import server_of

    return server_of(study_file, given)


def stored_in(study_file: StudyFile, file: Path) -> StoredFile:
    """The storage in a file, by what the file begins with."""
    return (JournalFile if begins(file, _JOURNAL) else SQLiteFile)(study_file, file)


def is_storage(path: Path) -> bool:
    """Whether a file is an SQLite database or a journal of Optuna, rather than a table."""
    return begins(path, SQLITE, _JOURNAL)


def study_in(study_file: StudyFile, file: Path) -> tuple[optuna.Study, list[FrozenTrial]]:
    """The study in a storage file, and its trials.

    Args:
        study_file: The study file of the study that it is read for.
        file: An SQLite file or a journal of Optuna, with one study or one of the same name.

    Raises:
        InvalidInput: If there are other studies only, or it has another direction.
        StorageFailed: If the storage cannot be read.
    """
    location = stored_in(study_file, file)
    with location.errors("reading"):
        opened = location.connect(create=False)
        names = location.study_names(opened)
        name = study_file.study.name if study_file.study.name in names else names[0]
        if len(names) != 1 and name != study_file.study.name:
            raise InvalidInput(
                f"{file}: contains the studies {', '.join(map(shown, names))}, expected one, or "
                f"one that is named {study_file.study.name!r}"
            )
        with location.readable("the study"):
            study = optuna.load_study(study_name=name, storage=opened)
        trials = location.trials(study)
    directions, wanted = [one.name.lower() for one in study.directions], study_file.study.direction
    if directions != [wanted]:
        raise InvalidInput(
            f"{file}: the study is to {', '.join(directions)}, expected {wanted}"
            + "; for several objectives import the table of `study.trials_dataframe()`"
            * (len(directions) > 1)
        )
    return study, list(trials)

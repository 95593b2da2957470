"""Where a study is stored: what can be asked of every kind of storage, and the errors of each."""

from __future__ import annotations

import contextlib
import json
import math
import sqlite3
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial

from surefoot.integrations.optuna.endings import trials_of
from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.study.storage_faults import DAMAGED, fault_of
from surefoot.types import SurefootError

Lock = contextlib.AbstractContextManager[None]
# What Optuna and drivers raise for content that is not theirs, such as an infinite integer.
UNREADABLE = TypeError, ValueError, ArithmeticError, LookupError, AttributeError, AssertionError


class NoStudy(StudyFileError):
    """The study does not exist yet."""


class StorageFailed(SurefootError):
    """The storage could not be read or written, though the study file is in order."""


_KEPT = "what was recorded before is safe, and the same command goes on from there"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Location(ABC):
    """A storage: the file of an SQLite database or an Optuna journal, or a database server.

    Args:
        study_file: The study file.
        say: Shows a line about what is waited for.
    """

    study_file: StudyFile
    say: Callable[[str], None] = field(default=_say, kw_only=True, compare=False, repr=False)
    shared: ClassVar[bool]
    """Whether other studies and other machines use it, too."""

    @property
    @abstractmethod
    def label(self) -> str:
        """The storage's name for messages, without a password and options."""

    @abstractmethod
    def check(self) -> None:
        """Check that a storage could be created here; a server is not connected.

        Raises:
            StudyFileError: If its driver is not known or installed, or its folder not writable.
        """

    @abstractmethod
    def connect(self, *, create: bool) -> BaseStorage:
        """Open the storage; with `create`, one that does not exist is created.

        Raises:
            NoStudy: If it does not exist and `create` is false.
            StudyFileError: If it is no storage of Optuna, or cannot be created.
            StorageFailed: If it cannot be read.
        """

    @abstractmethod
    def lock(self, sleep: Callable[[float], None], note: Callable[[], None]) -> Lock:
        """Exclude the processes of other machines that tune the study.

        Args:
            sleep: Waits between attempts, in seconds.
            note: Called while the lock is waited for, after a while.
        """

    @contextlib.contextmanager
    def errors(self, doing: str, then: str = _KEPT) -> Iterator[None]:
        """Turn the errors of a database or a journal into errors of ours, in one line.

        Args:
            doing: Names what is done, for the error.
            then: What follows from an error that harms nothing.

        Raises:
            StudyFileError: If the storage is damaged, read-only or not there.
            StorageFailed: At any other error.
        """
        try:
            yield
        except failures() as error:
            raise self._failure(f"{doing} failed", error, then) from error
        except UNREADABLE as error:
            if isinstance(error, SurefootError) or not _is_of_storage(error):
                raise
            said = f"{self.label}: {doing} failed: {self.reason(error)}"
            raise self.error(f"{said}; {DAMAGED.advice}") from error

    @contextlib.contextmanager
    def opening(self) -> Iterator[None]:
        """Turn whatever is raised for a storage that cannot be opened into an error of ours."""
        try:
            yield
        except SurefootError:
            raise
        except UNREADABLE as error:
            # What the URL's options make of a driver's arguments, and what is no journal.
            raise self.error(
                f"{self.label}: cannot be opened: {self.reason(error)}; expected a storage of "
                "Optuna, and options that its driver knows"
            ) from None
        except RuntimeError as error:  # tables of another Optuna, or a package that is missing
            raise self.error(f"{self.label}: cannot be opened: {self.reason(error)}") from None
        except Exception as error:  # drivers have errors of their own
            raise self._failure("cannot be opened", error, "") from error

    @contextlib.contextmanager
    def readable(self, what: str) -> Iterator[None]:
        """Turn Optuna's errors about what is damaged in a storage into `StudyFileError`."""
        try:
            yield
        except (UnicodeError, SurefootError):
            raise
        except UNREADABLE as error:
            raise self.error(
                f"{self.label}: {what} cannot be read: {self.reason(error)}; restore the storage "
                "from a copy"
            ) from error

    def has_study(self, storage: BaseStorage) -> bool:
        """Whether an opened storage has the study; by one query, where `study_names` takes six."""
        with self.readable("the study"):
            try:
                storage.get_study_id_from_name(self.study_file.study.name)
            except KeyError:
                return False
            return True

    def study_names(self, storage: BaseStorage) -> list[str]:
        """Names of the studies in an opened storage; `StudyFileError` if one is damaged."""
        with self.readable("the study"):
            return optuna.get_all_study_names(storage)

    def trials(self, study: optuna.Study) -> list[FrozenTrial]:
        """The trials of a study in it; `StudyFileError` if one is damaged."""
        with self.readable("a trial"):
            trials = trials_of(study)
            for trial in trials:
                for value in trial.values or ():
                    math.isnan(value)  # raises: SQLite keeps texts in columns of numbers
                if not all(isinstance(name, str) for name in trial.params):
                    raise TypeError(f"trial {trial.number} has a parameter without a name")
            return trials

    def reason(self, error: BaseException) -> str:
        """A database's own message, without the statement, chained exceptions and passwords."""
        cause: BaseException = error
        while (inner := getattr(cause, "orig", None) or cause.__cause__) is not None:
            cause = inner
        lines = str(cause).strip().splitlines()
        return self.study_file.hide_passwords(lines[0] if lines else type(cause).__name__)[:300]

    def _failure(self, what: str, error: BaseException, then: str) -> SurefootError:
        """The error of a storage that fails, with what to do by the kind of its fault."""
        fault, said = fault_of(error), f"{self.label}: {what}: {self.reason(error)}"
        if fault is not None and fault.is_permanent:
            return self.error(f"{said}; {fault.advice}")
        advice = [] if fault is None else [fault.advice]
        follows = [then] if then and (fault is None or fault.keeps) else []
        return StorageFailed("; ".join([said, *advice, *follows]))

    def error(self, message: str) -> StudyFileError:
        """The error that the storage of the study file cannot be used."""
        return self.study_file.error("study.storage", message)


def _is_of_storage(error: BaseException) -> bool:
    """Whether Optuna raised an error as it read or wrote a storage."""
    frames = (frame.f_globals for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(
        str(one.get("__name__")).startswith(("optuna.storages.", "optuna.study._tell"))
        for one in frames
    )


def failures() -> tuple[type[Exception], ...]:
    """Errors of databases and journals.

    SQLAlchemy is imported where something has failed, since an `except` clause is evaluated then.
    """
    from sqlalchemy.exc import SQLAlchemyError

    optunas = optuna.exceptions.StorageInternalError
    return SQLAlchemyError, optunas, sqlite3.Error, OSError, UnicodeError, json.JSONDecodeError

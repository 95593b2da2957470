"""Optuna's journal files, made safe against the death of a process in the middle of a line."""

from __future__ import annotations

import json
import os
from pathlib import Path

from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import StudyDirection

from surefoot.tune import system
from surefoot.tune.study.location import UNREADABLE
from surefoot.tune.study.storage_faults import DAMAGED
from surefoot.tune.study.stored_file import StoredFile

FIRST_LINE = 1_000_000  # bytes, more than the first line of a journal has


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
            first = content.readline(FIRST_LINE)
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
            begin = max(0, end - 65536)
            os.lseek(self._descriptor, begin, os.SEEK_SET)
            block = os.read(self._descriptor, end - begin)
            newline = block.rfind(b"\n")
            if newline >= 0:
                end = begin + newline + 1
                break
            end = begin
        if end < size:
            os.ftruncate(self._descriptor, end)

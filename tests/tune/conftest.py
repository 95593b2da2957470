"""A study to tune: its file and its command."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy

from support.study_doubles import BENCH, COMMAND, STUDY
from surefoot.tune.study.stored_file import SQLiteFile


@pytest.fixture
def write_study(tmp_path: Path) -> Callable[..., Path]:
    """Writes the study file, with `replacements` made in its text, and its bench."""

    def write(*replacements: tuple[str, str], command: str = COMMAND, bench: str = BENCH) -> Path:
        text = STUDY.format(command=command)
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "STUDY.toml"
        path.write_text(text)
        (tmp_path / "bench.py").write_text(bench)
        return path

    return write


@pytest.fixture(scope="session", autouse=True)
def _tables_are_created_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A new SQLite storage is a copy of an empty one, which Optuna has created."""
    empty, make = tmp_path_factory.mktemp("storage") / "empty.db", SQLiteFile.make

    def copied(new: SQLiteFile) -> None:
        if not empty.exists():
            make(replace(new, file=empty))
        if new.file.parent.is_dir():
            shutil.copyfile(empty, new.file)
        else:
            make(new)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SQLiteFile, "make", copied)
        yield


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk():
    """These tests kill processes, not machines: what SQLite wrote need not reach the disk."""

    def relax(connection, record):
        connection.execute("PRAGMA synchronous = OFF")

    sqlalchemy.event.listen(sqlalchemy.Engine, "connect", relax)
    yield
    sqlalchemy.event.remove(sqlalchemy.Engine, "connect", relax)

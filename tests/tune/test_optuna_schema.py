"""Tables of an SQLite file of another version of Optuna."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from surefoot.tune import StudyFile, StudyFileError, open_study
from surefoot.tune.study.opened_study import create_study

OTHER = [("v3.0.0.d", "storage upgrade"), ("v9.9.9.a", "updating optuna")]


def execute(file: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(file)) as base:
        base.execute(statement)
        base.commit()


@pytest.fixture
def path(write_study) -> Path:
    path = write_study()
    create_study(StudyFile.load(path))
    return path


@pytest.mark.parametrize(("revision", "advice"), OTHER)
def test_other_tables_are_refused_as_optuna_does(path, revision, advice):
    file = path.parent / "hill.db"
    execute(file, f"UPDATE alembic_version SET version_num = '{revision}'")
    before = file.read_bytes()
    for opening in (lambda: create_study(StudyFile.load(path)), lambda: open_study(path)):
        with pytest.raises(StudyFileError, match=advice):
            opening()
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    ["DROP TABLE alembic_version", "DELETE FROM alembic_version", "DELETE FROM version_info"],
)
def test_tables_of_which_the_version_is_unknown_are_checked_by_optuna(path, statement):
    execute(path.parent / "hill.db", statement)
    assert open_study(path).state().trials == ()

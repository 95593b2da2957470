"""Tables of an SQLite file, against Optuna's own check by Alembic."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from optuna.storages import RDBStorage
from optuna.storages._rdb import storage as rdb

from surefoot.tune import StudyFile, StudyFileError, open_study
from surefoot.tune.study import optuna_schema
from surefoot.tune.study.opened_study import create_study

OTHER = [("v3.0.0.d", "storage upgrade"), ("v9.9.9.a", "updating optuna")]
WITHOUT_ALEMBIC = """
import sys
from surefoot.tune.ask_tell.ask_tell import open_ask_tell
study = open_ask_tell(sys.argv[1])
print(study.status().finished, [n for n in ("alembic", "mako", "pygments") if n in sys.modules])
"""


def execute(file: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(file)) as base:
        base.execute(statement)
        base.commit()


@pytest.fixture
def path(write_study) -> Path:
    path = write_study()
    create_study(StudyFile.load(path))
    return path


def test_the_newest_tables_are_those_of_alembic(path):
    file = path.parent / "hill.db"
    assert optuna_schema.is_current(file)
    assert optuna_schema._newest() == RDBStorage(f"sqlite:///{file}").get_head_version()


@pytest.mark.daily(1)
@pytest.mark.parametrize(("revision", "advice"), OTHER)
def test_other_tables_are_refused_as_optuna_does(path, revision, advice):
    file = path.parent / "hill.db"
    execute(file, f"UPDATE alembic_version SET version_num = '{revision}'")
    assert not optuna_schema.is_current(file)
    before = file.read_bytes()
    for opening in (lambda: create_study(StudyFile.load(path)), lambda: open_study(path)):
        with pytest.raises(StudyFileError, match=advice):
            opening()
    assert file.read_bytes() == before


@pytest.mark.long
@pytest.mark.parametrize(
    "statement",
    ["DROP TABLE alembic_version", "DELETE FROM alembic_version", "DELETE FROM version_info"],
)
def test_tables_of_which_the_version_is_unknown_are_checked_by_optuna(path, statement):
    file = path.parent / "hill.db"
    execute(file, statement)
    assert not optuna_schema.is_current(file)
    assert open_study(path).state().trials == ()
    assert optuna_schema.is_current(file), "Optuna writes the version"


def test_an_optuna_that_checks_otherwise_goes_on_checking(path, monkeypatch):
    checked = []
    check = rdb._VersionManager

    def renamed(*given):
        checked.append(given)
        return check(*given)

    with optuna_schema.unchecked():
        assert rdb._VersionManager is not check
    assert rdb._VersionManager is check
    monkeypatch.setattr(optuna_schema, "_CHECK", "another_name")
    monkeypatch.setattr(rdb, "_VersionManager", renamed)
    open_study(path)
    assert checked


@pytest.mark.long
def test_a_study_is_opened_without_alembic(path):
    command = [sys.executable, "-c", WITHOUT_ALEMBIC, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "0 []\n"

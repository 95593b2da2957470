"""The tables of an SQLite file of Optuna: whether they are those of the installed version.

Optuna asks Alembic, which takes a fifth of the time in which a command starts.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

from optuna.storages._rdb import storage as rdb

_REVISION = re.compile(r"^(down_revision|revision) = [\"']([^\"']+)[\"']", re.MULTILINE)
_CHECK = "_VersionManager"
TABLES = (
    *("studies", "study_directions", "study_user_attributes", "study_system_attributes"),
    *("trials", "trial_params", "trial_values", "trial_user_attributes"),
    *("trial_system_attributes", "version_info"),
)


def rows(file: Path, query: str) -> list[tuple[str]]:
    """The rows of a query, which does not change the file.

    Raises:
        sqlite3.Error, UnicodeDecodeError: If it cannot be read.
    """
    with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as base:
        base.text_factory = lambda text: text.decode(errors="replace")
        return base.execute(query).fetchall()


def is_current(file: Path) -> bool:
    """Whether a file has the tables of the installed Optuna; false where that cannot be told.

    Args:
        file: An SQLite file.
    """
    try:
        revisions = rows(file, "SELECT version_num FROM alembic_version")
        described = rows(file, "SELECT schema_version FROM version_info")
    except sqlite3.Error:
        return False
    return len(described) == 1 and revisions == [(_newest(),)]


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """Storages that are opened meanwhile do not check their tables.

    Where Optuna has another way to do it, they do check them.
    """
    check = getattr(rdb, _CHECK, None)
    if check is None:
        yield
        return
    setattr(rdb, _CHECK, lambda *_: None)
    try:
        yield
    finally:
        setattr(rdb, _CHECK, check)


@cache
def _newest() -> str | None:
    """The revision that no other one revises; None unless there is exactly one."""
    kinds: dict[str, set[str]] = {"revision": set(), "down_revision": set()}
    try:
        for script in files("optuna.storages._rdb.alembic").joinpath("versions").iterdir():
            if script.name.endswith(".py"):
                for kind, revision in _REVISION.findall(script.read_text(encoding="utf-8")):
                    kinds[kind].add(revision)
    except (ImportError, OSError):
        return None
    newest = kinds["revision"] - kinds["down_revision"]
    return newest.pop() if len(newest) == 1 else None

"""A storage that fails while a study is read is an error in one line, whatever reads it."""

from __future__ import annotations

import io
import sqlite3
import sys

import pytest
import sqlalchemy
from rich.console import Console
from study_doubles import trials_of

from surefoot.tune import export, import_table, open_study, run, summarise
from surefoot.tune.comparison.compare import compare
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.display import Progress
from surefoot.tune.report import write_report
from surefoot.tune.study.kept_summary import kept_summary, summary_file
from surefoot.tune.study.storage import StorageFailed

TABLE = "size,share,mode,value\n" + "".join(f"{1000 + i},0.{i},OFF,{i}\n" for i in range(8))


class Statements:
    """Counts the statements to databases; from the one with number `failing` on, they fail."""

    def __init__(self) -> None:
        self.count, self.failing = 0, sys.maxsize

    def __call__(self, *_) -> None:
        self.count += 1
        if self.count >= self.failing:
            raise sqlite3.OperationalError("disk I/O error")


@pytest.fixture
def statements():
    counter = Statements()
    sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", counter)
    yield counter
    sqlalchemy.event.remove(sqlalchemy.Engine, "before_cursor_execute", counter)


def show_progress(path):
    Progress(trials_of(path)).update()


def run_to_its_end(path):
    run(path, console=Console(file=io.StringIO()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("read", "before"),
    [
        (lambda path: summarise(*open_study(path)), 0),
        (lambda path: kept_summary(*open_study(path)), 0),
        (lambda path: export(*open_study(path), path.with_suffix(".csv")), 0),
        (lambda path: write_report(path, path.with_suffix(".html")), 0),
        (lambda path: compare(path, "trial 1", "trial 2", runs=1, quiet=True), 0),
        (show_progress, 3),
        (run_to_its_end, 3),
    ],
)
def test_a_storage_that_fails_is_one_line(write_study, statements, read, before):
    path = write_study()
    (path.parent / "runs.csv").write_text(TABLE)
    import_table(path, path.parent / "runs.csv")
    statements.count = 0
    read(path)
    total, statements.count = statements.count, 0
    summary_file(StudyFile.load(path)).unlink(missing_ok=True)
    statements.failing = total - before
    with pytest.raises(StorageFailed, match=r"reading the study failed: disk I/O error"):
        read(path)

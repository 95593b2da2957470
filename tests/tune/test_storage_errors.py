"""A storage that fails is an error in one line; a moment in which it does is got over."""

from __future__ import annotations

import contextlib
import io
import os
import sqlite3
import sys

import pytest
import sqlalchemy
from optuna.samplers import RandomSampler
from optuna.trial import TrialState
from rich.console import Console

from support.commands import surefoot
from support.study_doubles import all_of, measurement, target_of, trials_of
from surefoot.tune import StudyFileError, export, import_table, open_study, run, summarise
from surefoot.tune.comparison.compare import compare
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.display import Progress
from surefoot.tune.measuring.measurement import Failure
from surefoot.tune.report import write_report
from surefoot.tune.stopping import Stop
from surefoot.tune.study import opened_study, storage_faults, trial_owner
from surefoot.tune.study.location import StorageFailed
from surefoot.tune.study.opened_study import create_study
from surefoot.tune.study.schedule import REMEASURED
from surefoot.tune.study.trial_attributes import is_interrupted
from surefoot.tune.study.trials import StudyTrials

TABLE = "size,share,mode,value\n" + "".join(f"{1000 + i},0.{i},OFF,{i}\n" for i in range(8))
MEASURED = measurement(2.5, 0.1, sem=0.5)

ENDS, REFUSED = "the connection ends", "the statement is refused"


class Statements:
    """Counts the statements to databases.

    From the one with number `failing` on, they fail. At the one with number `disturbed` the
    connection ends, or the database refuses the statement for now.
    """

    def __init__(self) -> None:
        self.count, self.failing, self.disturbed, self.by = 0, sys.maxsize, 0, ENDS

    def __call__(self, connection, cursor, *_) -> None:
        self.count += 1
        if self.count >= self.failing:
            raise sqlite3.OperationalError("disk I/O error")
        if self.count == self.disturbed and self.by == ENDS:
            cursor.connection.close()
        elif self.count == self.disturbed:
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error


@pytest.fixture
def statements(monkeypatch):
    monkeypatch.setattr(storage_faults, "sleep", lambda seconds: None)
    counter = Statements()
    sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", counter)
    yield counter
    sqlalchemy.event.remove(sqlalchemy.Engine, "before_cursor_execute", counter)


def moments(count: int) -> list[tuple[int, str]]:
    """Each of so many statements with the end of the connection, and some with a refusal."""
    ended = [(number, ENDS) for number in range(1, count + 1)]
    return ended + [(number, REFUSED) for number in range(1, count + 1, 4)]


def finished(trials: StudyTrials) -> int:
    return trials.opened.state().finished


def show_progress(path):
    Progress(trials_of(path), Stop()).update()


def run_to_its_end(path):
    run(path, console=Console(file=io.StringIO()))


@pytest.mark.long
@pytest.mark.parametrize(
    ("read", "before"),
    [
        (lambda path: summarise(open_study(path)), 0),
        (lambda path: export(open_study(path), path.with_suffix(".csv")), 0),
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
    statements.failing = total - before
    with pytest.raises(StorageFailed, match=r"reading the study failed: disk I/O error"):
        read(path)


@pytest.mark.long
@pytest.mark.parametrize("result", [MEASURED, Failure("exit status 1", "sorry", 0.1)])
def test_a_measurement_is_recorded_wherever_the_database_fails_once(
    write_study, statements, result
):
    trials = trials_of(write_study(), rounds=150)
    trials.record(trials.begin_next(), result)
    trial = trials.begin_next()
    statements.count = 0
    trials.record(trial, result)
    for number, by in moments(statements.count):
        trial = trials.begin_next()
        statements.count, statements.disturbed, statements.by = 0, number, by
        trials.record(trial, result)
        assert statements.count > number
    assert trials.opened.state().finished == trial.number + 1
    first, *others = [
        (one.state, one.values, one.user_attrs.keys() - {REMEASURED}) for one in all_of(trials)
    ]
    assert others == [first] * len(others)


@pytest.mark.daily(1)
@pytest.mark.parametrize("read", [target_of, finished])
def test_a_study_is_read_wherever_the_database_fails_once(write_study, statements, read):
    path = write_study()
    (path.parent / "runs.csv").write_text(TABLE)
    import_table(path, path.parent / "runs.csv")
    trials = trials_of(path)
    statements.count = 0
    expected = read(trials)
    for number, by in moments(statements.count):
        statements.count, statements.disturbed, statements.by = 0, number, by
        assert read(trials) == expected
        assert statements.count > number


@pytest.mark.long
def test_a_trial_begins_wherever_the_database_fails_once(write_study, statements):
    trials = trials_of(write_study(), rounds=150)
    trials.record(trials.begin_next(), MEASURED)
    statements.count = 0
    trials.record(trials.begin_next(), MEASURED)
    for number, by in moments(statements.count):
        statements.count, statements.disturbed, statements.by = 0, number, by
        trial = trials.begin_next()
        (running,) = [one for one in all_of(trials) if one.state == TrialState.RUNNING]
        assert running.number == trial.number
        assert running.params == trial.params
        assert len(trial.params) == 3
        assert trial_owner.owner_of(running) is not None
        trials.record(trial, MEASURED)
    assert {one.state for one in all_of(trials) if not is_interrupted(one)} == {TrialState.COMPLETE}


@pytest.mark.long
def test_the_progress_is_shown_wherever_the_database_fails_once(write_study, statements):
    path = write_study()
    (path.parent / "runs.csv").write_text(TABLE)
    import_table(path, path.parent / "runs.csv")
    progress = Progress(trials_of(path), Stop())
    statements.count = 0
    progress.update()
    for number, by in moments(statements.count):
        progress = Progress(trials_of(path), Stop())
        statements.count, statements.disturbed, statements.by = 0, number, by
        progress.update()
        assert len(progress._trials.opened.recommended) == 1
        assert statements.count > number


def test_a_study_is_opened_wherever_the_database_fails_once(write_study, statements):
    path = write_study()
    trials_of(path)
    statements.count = 0
    trials_of(path)
    for number, by in moments(statements.count):
        statements.count, statements.disturbed, statements.by = 0, number, by
        assert trials_of(path).opened.state().trials == ()
        assert statements.count > number


def test_a_parameter_without_a_name_is_one_line(write_study):
    path = write_study()
    trials_of(path).begin_next()
    with contextlib.closing(sqlite3.connect(path.parent / "hill.db")) as base, base:
        base.execute("UPDATE trial_params SET param_name = NULL WHERE rowid = 1")
    with pytest.raises(StudyFileError, match="trial 0 has a parameter without a name; restore"):
        open_study(path)


def test_a_storage_that_cannot_be_opened_says_that_no_measurement_was_begun(
    write_study, monkeypatch
):
    """Such as a server with a wrong address, which the lock finds first."""

    @contextlib.contextmanager
    def refused(location):
        raise sqlalchemy.exc.OperationalError("connect", {}, Exception("refused"))
        yield

    monkeypatch.setattr(opened_study, "study_lock", refused)
    with pytest.raises(
        StorageFailed, match=r"opening the study failed.*no measurement was begun: che"
    ):
        opened_study.create_study(StudyFile.load(write_study()))


@pytest.mark.daily(4)
@pytest.mark.parametrize("lines", [1, 2, 3, 4, 5, 9, 30])
@pytest.mark.parametrize("at", ["begun", "recorded"])
def test_a_journal_that_loses_its_last_lines_ends_a_run_in_one_line(write_study, lines, at):
    """As by an older copy, while a run measures."""
    path = write_study(("rounds = 8", 'rounds = 8\nstorage = "journal:///hill.log"'))
    trials, journal = trials_of(path), path.with_name("hill.log")

    def cut() -> None:
        content = journal.read_bytes().splitlines(keepends=True)
        os.truncate(journal, len(b"".join(content[: max(1, len(content) - lines)])))

    with contextlib.suppress(StudyFileError):
        for number in range(4):
            begun = trials.begin_next()
            if (number, at) == (2, "begun"):
                cut()
            trials.record(begun, measurement(1.0, 0.1))
            if (number, at) == (2, "recorded"):
                cut()
    said = surefoot("status", path, code=None)
    assert "Traceback" not in said


def test_an_error_of_a_sampler_is_no_error_of_the_storage(write_study):
    class Wrong(RandomSampler):
        def sample_independent(self, *given):
            raise ValueError("a mistake of its own")

    opened = create_study(StudyFile.load(write_study()), Wrong())
    with pytest.raises(ValueError, match="a mistake of its own"):
        StudyTrials(opened, 8, "a run", "w0").begin_next()


@pytest.mark.long
@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_file_that_is_gone_while_a_run_measures_is_said_to_be_gone(write_study, how):
    path = write_study()
    trials, file = trials_of(path), path.with_name("hill.db")
    trials.record(trials.begin_next(), measurement(1.0, 0.1))
    begun = trials.begin_next()
    if how == "replaced":
        file.with_name("copy").write_bytes(file.read_bytes())
        file.with_name("copy").replace(file)
    elif how == "moved":
        file.rename(file.with_name("elsewhere.db"))
    else:
        file.unlink()
    with pytest.raises(StudyFileError, match="the file was deleted, moved or replaced after it"):
        trials.record(begun, measurement(2.0, 0.1))

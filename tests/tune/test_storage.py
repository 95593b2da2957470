"""Storages that were damaged, that hold something else, or that are a journal."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import sqlite3
import threading
import time
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from optuna.distributions import FloatDistribution
from optuna.exceptions import StorageInternalError
from optuna.samplers import RandomSampler
from optuna.trial import TrialState, create_trial
from sqlalchemy import create_engine
from sqlalchemy.dialects import registry
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from support.study_doubles import Scripted, trials_of
from surefoot.integrations.optuna.trial_reader import conditions_of
from surefoot.tune import StudyFile, StudyFileError, open_study, run
from surefoot.tune.stopping import Stop
from surefoot.tune.study import server, storage_faults, study_lock, trial_owner
from surefoot.tune.study.compatibility import DEFINITION
from surefoot.tune.study.location import NoStudy, StorageFailed
from surefoot.tune.study.opened_study import create_study
from surefoot.tune.study.optuna_schema import TABLES
from surefoot.tune.study.server import Server
from surefoot.tune.study.storage_faults import overcome, passes
from surefoot.tune.study.stored_file import (
    JournalFile,
    JournalLock,
    SQLiteFile,
    locate,
    stored_in,
)
from surefoot.tune.study.trial_attributes import OWNER, SECONDS
from surefoot.tune.workers.worker_loop import tune


def refused(path, match: str) -> None:
    """Opening a study is refused, and its storage is left as it was."""
    before = {one.name: one.read_bytes() for one in path.parent.iterdir()}
    for opening in (lambda: create_study(StudyFile.load(path)), lambda: open_study(path)):
        with pytest.raises(StudyFileError, match=match) as caught:
            opening()
        assert str(caught.value).isprintable()
        assert str(caught.value).startswith("STUDY.toml: study.storage: ")
    assert {one.name: one.read_bytes() for one in path.parent.iterdir()} == before


JOURNAL = ("rounds = 8", 'rounds = 8\nstorage = "journal:///hill.log"')


def test_an_empty_file(write_study):
    path = write_study()
    (path.parent / "hill.db").write_bytes(b"")
    refused(path, r"hill\.db is empty, expected a storage of Optuna; restore it from a copy, or d")
    path = write_study(JOURNAL)
    (path.parent / "hill.log").write_bytes(b"")
    refused(path, r"hill\.log is empty, expected")


def test_a_dropped_table(write_study):
    path = write_study()
    tune(trials_of(path, rounds=1), Scripted(), Stop())
    file = path.parent / "hill.db"
    complete = file.read_bytes()
    for table in TABLES:
        file.write_bytes(complete)
        with contextlib.closing(sqlite3.connect(file)) as base:
            base.execute(f"DROP TABLE {table}")
            base.commit()
        refused(path, f"lacks the table {table} of an Optuna storage; restore it from a copy")


@pytest.mark.long
@pytest.mark.parametrize(("before", "after"), [("IntDist", "IntDisq"), ('"log"', '"lng"')])
def test_a_damaged_trial(write_study, before, after):
    path = write_study()
    tune(trials_of(path, rounds=1), Scripted(), Stop())
    base = path.parent / "hill.db"
    base.write_bytes(base.read_bytes().replace(before.encode(), after.encode()))
    refused(path, "a trial cannot be read: .*; restore the storage from a copy")


def test_a_name_of_a_table_that_is_not_text(write_study):
    path = write_study()
    trials_of(path)
    base = path.parent / "hill.db"
    content = base.read_bytes()
    content = content.replace(b"tabletrial_params", b"table\xb8rial_params")
    base.write_bytes(content.replace(b"CREATE TABLE trial_params", b"CREATE TABLE trial params"))
    refused(path, "the storage is damaged: restore it from a copy")


@pytest.mark.long
@pytest.mark.parametrize("storage", [("rounds = 8", "rounds = 8"), JOURNAL])
def test_whatever_is_damaged_is_read_or_refused(write_study, storage):
    path = write_study(storage)
    tune(trials_of(path, rounds=3), Scripted(), Stop())
    (file,) = path.parent.glob("hill.*")
    whole, messages = file.read_bytes(), []
    for seed in range(45):
        random, content = np.random.default_rng(seed), np.frombuffer(whole, np.uint8).copy()
        at = random.integers(len(content), size=random.integers(1, 40))
        if seed % 3 == 0:
            content = content[: at[0] + 1]
        elif seed % 3 == 1:
            content[at[0] : at[0] + 20000 : 7] ^= 0x55
        else:
            content[at] ^= 1
        for opening in (lambda: create_study(StudyFile.load(path)), lambda: open_study(path)):
            for one in path.parent.glob("hill.*"):
                one.unlink()
            file.write_bytes(content.tobytes())
            try:
                opening().state()
            except StudyFileError as error:
                messages.append(str(error))
    assert len(messages) > 15
    for message in messages:
        assert re.search("restore|of study|no study|expected|updating optuna|upgrade", message)
        assert "is safe" not in message


@pytest.mark.parametrize("killed_at", ["hardlink_to", "rename"])
def test_a_storage_is_there_completely_or_not_at_all(write_study, monkeypatch, killed_at):
    path = write_study()
    ours = {"STUDY.toml", "bench.py"}

    class Killed(BaseException):
        pass

    def killed(*arguments, **keywords):
        raise Killed

    def no_links(*arguments, **keywords):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("pathlib.Path.hardlink_to", no_links)
    monkeypatch.setattr(f"pathlib.Path.{killed_at}", killed)
    monkeypatch.setattr("pathlib.Path.unlink", lambda *arguments, **keywords: None)
    with pytest.raises(Killed):
        trials_of(path)
    monkeypatch.undo()
    (left,) = {one.name for one in path.parent.iterdir()} - ours
    assert re.fullmatch(r"\.hill\.db\..*\.new", left)
    tune(trials_of(path, rounds=1), Scripted(), Stop())
    assert {one.name for one in path.parent.iterdir()} == {*ours, "hill.db"}


@pytest.mark.long
@pytest.mark.parametrize("url", ["sqlite:///one.db", "journal:///one.log"])
@pytest.mark.parametrize("linked", [False, True])
def test_copies_of_a_study_file_create_one_storage_and_take_turns(write_study, url, linked):
    path = write_study(("rounds = 8", f'rounds = 8\nstorage = "{url}"'))
    files = [path.with_name(f"copy{n}.toml") for n in range(6)]
    for one in files:
        one.write_text(path.read_text())
    if linked:
        name = url.rpartition("/")[2]
        files[0].write_text(path.read_text().replace(name, "link"))
        path.with_name("link").symlink_to(name)
    inside, most, failed, begin = 0, [], [], threading.Barrier(len(files))

    def use(study_file: Path) -> None:
        nonlocal inside
        try:
            begin.wait()
            with create_study(StudyFile.load(study_file)).lock():
                inside += 1
                most.append(inside)
                time.sleep(0.02)
                inside -= 1
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=use, args=[one]) for one in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (failed, most) == ([], [1] * len(files))
    assert not list(path.parent.glob(".*"))


def foreign_owners() -> list[object]:
    """What is no owner of a trial; some of it is one but for an entry."""
    me = trial_owner.this_process("run")
    wrong = {"run": 1}, {"boot": "x"}, {"pid": "12"}, {"pid": True}, {"began": None}
    clocks = {"began": float("nan")}, {"began": 1e300}, {"began": -1}
    return [{**me, **entry} for entry in wrong + clocks] + ["x", 3, [], {}]


@pytest.mark.long
@pytest.mark.parametrize("state", [TrialState.RUNNING, TrialState.COMPLETE])
def test_a_foreign_owner_of_a_trial(write_study, state):
    path = write_study()
    trials = trials_of(path, rounds=3)
    tune(trials, Scripted(), Stop())
    asked = [
        trials.opened.study.ask(fixed_distributions=trials.study_file.distributions)
        for _ in foreign_owners()
    ]
    for value in foreign_owners():
        asked[0].set_user_attr(OWNER, value)
        refused(path, rf"the user attribute '{OWNER}' of trial 3 (is|has) .*, expected .* remove ")
    # Recorded while a run is going on, they are no trials of surefoot's.
    for trial, value in zip(asked, foreign_owners(), strict=True):
        trial.set_user_attr(OWNER, value)
        if state == TrialState.COMPLETE:
            trials.opened.study.tell(trial, 1.0)
    refused(path, rf"the user attribute '{OWNER}' of trial 3 (is|has) .*, expected .* remove it")
    rounds = 5 if state == TrialState.RUNNING else 5 + len(asked)
    more = type(trials)(trials.opened, rounds, "run", "w0")
    tune(more, Scripted(), Stop())
    assert more.opened.state().finished == rounds


def test_a_foreign_definition_of_a_study(write_study):
    path = write_study()
    study = create_study(StudyFile.load(path)).study
    before = dict(study.user_attrs[DEFINITION])
    for value in ("x", 3, [], {}, {**before, "objective": 3}, {**before, "parameters": [1]}):
        study.set_user_attr(DEFINITION, value)
        refused(path, f"the user attribute '{DEFINITION}' is .*, expected a definition")


@pytest.mark.long
def test_other_foreign_attributes_do_no_harm(write_study):
    path = write_study()
    trials = trials_of(path, rounds=1)
    tune(trials, Scripted(), Stop())
    trial = trials.opened.study.ask(fixed_distributions=trials.study_file.distributions)
    for name in (SECONDS, "failure", "output", "left behind", "surefoot:environment"):
        trial.set_user_attr(name, ["fast"])
    trials.opened.study.tell(trial, 2.0)
    assert run(path, rounds=3, quiet=True, sampler=RandomSampler()).summary.trials == 3


class TestJournal:
    def test_a_study_in_a_journal(self, write_study):
        path = write_study(JOURNAL)
        tune(trials_of(path, rounds=3), Scripted(), Stop())
        tune(trials_of(path, rounds=5), Scripted(), Stop())
        assert [trial.state.name for trial in open_study(path).study.trials] == ["COMPLETE"] * 5
        assert {one.name for one in path.parent.iterdir()} == {"STUDY.toml", "bench.py", "hill.log"}

    @pytest.mark.parametrize("content", ["{}", "nothing\n" * 3, '{"op_code": "x"}\n', "[1]\n[2]\n"])
    def test_a_file_of_something_else(self, write_study, content):
        path = write_study(JOURNAL)
        (path.parent / "hill.log").write_text(content)
        refused(path, r"hill\.log: ")

    def test_a_line_that_a_killed_process_has_begun(self, write_study):
        path = write_study(JOURNAL)
        tune(trials_of(path, rounds=3), Scripted(), Stop())
        with (path.parent / "hill.log").open("a") as file:
            file.write(json.dumps({"op_code": 4, "worker_id": "x" * 100_000})[:-20])
        assert len(open_study(path).study.trials) == 3
        tune(trials_of(path, rounds=5), Scripted(), Stop())
        assert len(open_study(path).study.trials) == 5

    def test_the_lock_ends_with_its_process(self, tmp_path):
        file = tmp_path / "x.log"
        file.write_text("1\n2")
        lock = JournalLock(file)
        lock.acquire()
        assert file.read_text() == "1\n"
        lock.release()
        begun = time.monotonic()
        again = JournalLock(file)
        again.acquire()
        again.release()
        assert time.monotonic() - begun < 1


def damage(folder: Path) -> None:
    file = folder / "damaged.db"
    with contextlib.closing(sqlite3.connect(file)) as base, base:
        base.execute("CREATE TABLE x AS SELECT 1 AS y")
    content = bytearray(file.read_bytes())
    content[4096:] = b"\x55" * (len(content) - 4096)
    file.write_bytes(content)
    with contextlib.closing(sqlite3.connect(file)) as base:
        base.execute("SELECT y FROM x").fetchall()


def foreign_text(folder: Path) -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.execute("SELECT CAST(x'b8' AS TEXT)").fetchall()


def no_table(folder: Path) -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.execute("SELECT * FROM trials")


def write_read_only(folder: Path) -> None:
    sqlite3.connect(folder / "read.db").close()
    with contextlib.closing(sqlite3.connect(f"file:{folder}/read.db?mode=ro", uri=True)) as base:
        base.execute("CREATE TABLE x (y)")


def fill(folder: Path) -> None:
    with contextlib.closing(sqlite3.connect(folder / "full.db")) as base:
        base.execute("PRAGMA max_page_count = 1")
        base.execute("CREATE TABLE x (y)")
        base.execute("CREATE TABLE z (y)")


def lock(folder: Path) -> None:
    file = folder / "locked.db"
    with (
        contextlib.closing(sqlite3.connect(file, isolation_level=None)) as base,
        contextlib.closing(sqlite3.connect(file, timeout=0)) as other,
    ):
        base.execute("BEGIN EXCLUSIVE")
        other.execute("CREATE TABLE x (y)")


def open_nothing(folder: Path) -> None:
    sqlite3.connect(folder / "absent" / "x.db")


def system(number: int):
    def fail(folder: Path) -> None:
        raise OSError(number, os.strerror(number))

    return fail


RESTORED, WRITABLE = "restore it from a copy, or move it away", "make the storage writable"
REFUSED = {
    "damaged": (damage, RESTORED, StudyFileError, False),
    "a text that is none": (foreign_text, RESTORED, StudyFileError, False),
    "other tables": (no_table, RESTORED, StudyFileError, False),
    "read-only": (write_read_only, WRITABLE, StudyFileError, False),
    "without permission": (system(errno.EACCES), WRITABLE, StudyFileError, False),
    "of a read-only disk": (system(errno.EROFS), WRITABLE, StudyFileError, False),
    "absent": (open_nothing, "check that the file and its folder", StudyFileError, False),
    "gone": (system(errno.ENOENT), "check that the file and its fol", StudyFileError, False),
    "full": (fill, "no space is left: free some", StorageFailed, True),
    "of a full disk": (system(errno.ENOSPC), "no space is left: free some", StorageFailed, True),
    "locked": (lock, "another process holds the storage: wait", StorageFailed, True),
    "of a broken disk": (system(errno.EIO), "check the disk", StorageFailed, False),
}
KINDS = {
    SQLiteFile: "sqlite:///hill.db",
    JournalFile: "journal:///hill.log",
    # SQLite by another name is opened by its URL, as a server's database is.
    Server: "sqlite+server:///{}/server.db",
}


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def located(request, write_study, tmp_path):
    """The storage of a study that does not exist yet, of each kind."""
    registry.register("sqlite.server", "sqlalchemy.dialects.sqlite.pysqlite", "dialect")
    url = KINDS[request.param].format(tmp_path)
    location = locate(StudyFile.load(write_study(("rounds = 8", f'rounds = 8\nstorage = "{url}"'))))
    assert type(location) is request.param
    return location


class TestEachKind:
    def test_what_is_asked_before_there_is_a_study(self, located, tmp_path):
        located.check()
        assert {one.name for one in tmp_path.iterdir()} == {"STUDY.toml", "bench.py"}
        with pytest.raises(NoStudy, match=r"run `surefoot tune STUDY.toml`") as caught:
            located.connect(create=False)
        assert located.label in str(caught.value)

    @pytest.mark.long
    def test_what_is_asked_of_a_study(self, located):
        opened = create_study(located.study_file)
        opened.study.tell(opened.study.ask(opened.study_file.distributions), 1.0)
        storage = located.connect(create=False)
        assert located.has_study(storage)
        assert located.study_names(storage) == ["hill"]
        assert [trial.value for trial in located.trials(opened.study)] == [1.0]

    def test_another_study_shares_a_server_only(self, located, tmp_path):
        create_study(located.study_file)
        other = tmp_path / "OTHER.toml"
        text = located.study_file.path.read_text()
        other.write_text(text.replace('name = "hill"', 'name = "other"'))
        if located.shared:
            opened = create_study(StudyFile.load(other))
            assert set(located.study_names(opened.storage)) == {"hill", "other"}
        else:
            with pytest.raises(StudyFileError, match="is the storage of study 'hill', not of 'oth"):
                create_study(StudyFile.load(other))

    def test_its_lock_is_free_again(self, located):
        noted = []
        for _ in range(2):
            with located.lock(time.sleep, lambda: noted.append(1)):
                pass
        assert not noted

    def test_its_errors_are_one_line_each(self, located):
        for raised in (OSError("disk\nfull"), OperationalError("SELECT", {}, Exception("disk"))):
            with (
                pytest.raises(StorageFailed, match="reading failed: disk; what was") as caught,
                located.errors("reading"),
            ):
                raise raised
            assert str(caught.value).startswith(f"{located.label}: ")
        for what in (located.opening(), located.readable("a trial")):
            with pytest.raises(StudyFileError, match=f"{re.escape(located.label)}: .* x; "), what:
                raise ValueError("x")

    @pytest.mark.parametrize("name", REFUSED)
    def test_each_fault_has_its_advice(self, located, tmp_path, name):
        do, advice, kind, is_safe = REFUSED[name]
        with pytest.raises((sqlite3.Error, OSError)) as raised:
            do(tmp_path)
        driver = raised.value
        wrapped = [driver]
        if isinstance(driver, sqlite3.Error):
            wrapped += [OperationalError("SELECT", {}, driver), StorageInternalError("failed")]
            wrapped[-1].__cause__ = wrapped[1]
        for error in wrapped:
            with (
                pytest.raises(kind, match=f"{re.escape(located.label)}: .*{advice}") as caught,
                located.errors("reading"),
            ):
                raise error
            assert type(caught.value) is kind
            assert ("what was recorded before is safe" in str(caught.value)) is is_safe
            with pytest.raises(kind, match=advice), located.opening():
                raise error

    def test_what_is_refused_for_now_is_done_again(self, monkeypatch):
        slept = []
        monkeypatch.setattr(storage_faults, "sleep", slept.append)
        busy = sqlite3.OperationalError("database is locked")
        busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
        outcomes, undone = iter([busy, busy, None]), []

        def do() -> str:
            if (error := next(outcomes)) is not None:
                raise error
            return "done"

        assert overcome(do, lambda: undone.append(1)) == "done"
        assert (undone, slept) == ([1, 1], [0.25, 0.5])
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            overcome(throw(busy))
        assert 30.0 < sum(slept[2:]) < 40.0
        before = len(slept)
        with pytest.raises(ValueError):
            overcome(throw(ValueError()))
        assert len(slept) == before


def driver_error(module: str = "psycopg", *given: object, **attributes: object) -> Exception:
    return type("DriverError", (Exception,), {"__module__": module, **attributes})(*given)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (driver_error(sqlstate="57014"), True),  # a statement took too long
        (driver_error(sqlstate="25006"), True),  # read-only while another server takes over
        (driver_error(sqlstate="42501"), False),  # no privilege
        (driver_error("psycopg2.errors", pgcode="55P03"), True),
        (driver_error("MySQLdb", 1205), True),  # a lock
        (driver_error("pymysql.err", 1290, "--read-only"), True),
        (driver_error("mysql.connector.errors", 1142, sqlstate="42000"), False),  # no privilege
        (driver_error(sqlite_errorcode=sqlite3.SQLITE_BUSY_RECOVERY), True),
        (driver_error(sqlite_errorcode=sqlite3.SQLITE_FULL), False),
        (driver_error(sqlstate="25P02"), True),  # what follows in its transaction
        (driver_error(sqlstate="42P01"), False),
        (ValueError(), False),
        (OperationalError("SELECT", {}, Exception("closed"), connection_invalidated=True), True),
        (OperationalError(None, {}, Exception("connection refused")), True),
        (OperationalError(None, {}, sqlite3.OperationalError("unable to open")), False),
        (OperationalError("SELECT", {}, Exception("no such column")), False),
    ],
)
def test_what_passes_is_told_from_what_stays(error, expected):
    raised = RuntimeError("of Optuna")
    raised.__cause__ = error
    assert passes(raised) is expected


def test_a_worker_waits_for_a_server_that_refuses_it_and_a_user_is_told_at_once(
    write_study, tmp_path, monkeypatch
):
    registry.register("sqlite.server", "sqlalchemy.dialects.sqlite.pysqlite", "dialect")
    url = KINDS[Server].format(tmp_path)
    study_file = StudyFile.load(write_study(("rounds = 8", f'rounds = 8\nstorage = "{url}"')))
    answers, slept, connect = [], [], Server.connect

    def busy(location: Server, *, create: bool):
        with location.opening():
            if answers:
                raise OperationalError(None, {}, Exception(answers.pop()))
            return connect(location, create=create)

    monkeypatch.setattr(Server, "connect", busy)
    monkeypatch.setattr(storage_faults, "sleep", slept.append)
    answers += ["too many connections"] * 2
    with pytest.raises(StorageFailed, match="cannot be opened: too many connections"):
        create_study(study_file)
    assert not slept
    assert create_study(study_file, joins=True).state().finished == 0
    assert slept == [0.25]


def throw(error: Exception):
    """A function that raises an error."""

    def do() -> None:
        raise error

    return do


@pytest.mark.parametrize("kind", [SQLiteFile, JournalFile])
def test_the_kind_of_a_file_is_known_by_its_beginning(write_study, tmp_path, kind):
    study_file = StudyFile.load(write_study())
    made = kind(study_file, tmp_path / "study")
    made.make()
    assert stored_in(study_file, made.file) == made


@pytest.mark.long
def test_a_database_without_optunas_tables_has_no_study_yet(write_study, tmp_path):
    registry.register("sqlite.server", "sqlalchemy.dialects.sqlite.pysqlite", "dialect")
    url = f"sqlite+server:///{tmp_path / 'server.db'}"
    path = write_study(("rounds = 8", f'rounds = 8\nstorage = "{url}"'))
    with pytest.raises(NoStudy, match="contains no study yet; run"):
        open_study(path)
    tune(trials_of(path, rounds=2), Scripted(), Stop())
    assert len(open_study(path).study.trials) == 2


def test_a_connection_to_a_server_that_is_gone_ends():
    url = make_url("postgresql+psycopg://me@host/db?connect_timeout=5")
    options = Server(None, url).options()
    assert options["pool_pre_ping"]
    assert options["connect_args"].keys() == {
        *("keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout")
    }
    assert Server(None, make_url("mysql+pymysql://h/d")).options()["connect_args"] == {}


@pytest.mark.long
def test_a_connection_that_the_server_has_closed_is_opened_anew(write_study, tmp_path):
    registry.register("sqlite.server", "sqlalchemy.dialects.sqlite.pysqlite", "dialect")
    url = f"sqlite+server:///{tmp_path / 'server.db'}"
    trials = trials_of(write_study(("rounds = 8", f'rounds = 8\nstorage = "{url}"')))
    objective = Scripted()

    def restart() -> None:
        trials.opened.storage.remove_session()
        with trials.opened.storage.engine.connect() as connection:
            driver = connection.connection.driver_connection
        driver.close()

    objective.before = restart
    tune(trials, objective, Stop())
    assert trials.opened.state().finished == 8


class TestLock:
    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch):
        monkeypatch.setattr(study_lock, "PATIENCE", 0.1)
        monkeypatch.setattr(server, "PATIENCE", 0.1)
        study_lock._note_waiting.cache_clear()

    @pytest.mark.long
    def test_waiting_for_another_process_is_noted_once(self, write_study, capfd):
        study_file = StudyFile.load(write_study())
        for _ in range(2):
            with study_file.path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                release = threading.Timer(0.5, fcntl.flock, [file, fcntl.LOCK_UN])
                release.start()
                with study_lock.study_lock(locate(study_file)):
                    release.join()
        wanted = "STUDY.toml: waiting for another process, which is choosing a configuration"
        (line,) = capfd.readouterr().err.splitlines()
        assert line.startswith(wanted)

    def test_of_a_server_too(self, write_study, capfd, monkeypatch):
        url = "postgresql://me@host/db"
        path = write_study(("rounds = 8", f'rounds = 8\nstorage = "{url}"'))
        tried = iter([False] * 2 + [True] * 2)
        monkeypatch.setattr(server, "_is_true", lambda *arguments: next(tried))
        monkeypatch.setattr(Server, "engine", lambda *_, **__: create_engine("sqlite://"))
        with study_lock.study_lock(locate(StudyFile.load(path)), sleep=lambda _: time.sleep(0.2)):
            assert "waiting for another process" in capfd.readouterr().err

    def test_of_other_servers_no_machine_excludes_another(self, write_study, monkeypatch):
        path = write_study(("rounds = 8", 'rounds = 8\nstorage = "mysql+pymysql://me@host/db"'))
        monkeypatch.setattr(Server, "engine", pytest.fail)
        with study_lock.study_lock(locate(StudyFile.load(path)), sleep=pytest.fail):
            pass

    def test_a_study_keeps_the_connection_of_its_lock(self, write_study, monkeypatch):
        """A process locks a study any number of times; servers limit their connections."""
        path = write_study(("rounds = 8", 'rounds = 8\nstorage = "postgresql://me@once/db"'))
        made = []
        monkeypatch.setattr(server, "_is_true", lambda *arguments: True)
        monkeypatch.setattr(Server, "engine", lambda self, **_: made.append(self) or engine)
        engine, location = create_engine("sqlite://"), locate(StudyFile.load(path))
        for _ in range(3):
            with study_lock.study_lock(location):
                pass
        assert len(made) == 1

    def test_a_lock_that_is_free_is_not_waited_for(self, write_study, capfd):
        with study_lock.study_lock(locate(StudyFile.load(write_study()))):
            time.sleep(0.3)
        assert capfd.readouterr().err == ""


@pytest.mark.parametrize("storage", ["", 'storage = "journal:///hill.log"'])
def test_a_link_to_a_study_file_finds_its_study(write_study, tmp_path, storage):
    path = write_study(("rounds = 8", f"rounds = 8\n{storage}"))
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.toml"
    link.symlink_to(path)
    for a_study in (False, True):
        if a_study:
            trials_of(path)
        folder = path.parent if a_study else link.parent
        found = StudyFile.load(link)  # its storage, its fits, and where its commands run
        assert locate(found).file.parent.samefile(folder)
        assert found.folder.samefile(folder)


@pytest.mark.parametrize("scheme", ["sqlite", "sqlite+pysqlite", "journal"])
@pytest.mark.parametrize("name", ["a@b.db", "/x y.db", "é:1@h/x", "a#b", "%41.db", "a%20b", "+"])
def test_the_file_of_a_url_is_that_of_sqlalchemy(write_study, scheme, name):
    url = f"{scheme}:///{name}"
    study_file = StudyFile.load(write_study(("rounds = 8", f'rounds = 8\nstorage = "{url}"')))
    located = locate(study_file)
    assert located.file == study_file.folder / make_url(url).database
    assert type(located) is (JournalFile if scheme == "journal" else SQLiteFile)


@pytest.mark.parametrize("url", ["redis://localhost:6379/0", "grpc://localhost:13000"])
def test_a_storage_of_optuna_without_sqlalchemy_is_refused_by_name(write_study, url):
    path = write_study(("rounds = 8", f'rounds = 8\nstorage = "{url}"'))
    with pytest.raises(StudyFileError, match="expected postgresql://, mysql://"):
        locate(StudyFile.load(path))


@pytest.mark.daily(1)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE study_directions SET direction = '0.5'", "the study cannot be read"),
        ("UPDATE trial_values SET value = 'a'", "a trial cannot be read"),
        ("UPDATE trial_values SET value = x'00ff'", "a trial cannot be read"),
    ],
)
def test_a_foreign_value_in_a_storage_is_refused_in_one_line(write_study, change, message):
    path = write_study()
    opened = create_study(StudyFile.load(path))
    opened.study.tell(opened.study.ask(opened.study_file.distributions), 1.0)
    with contextlib.closing(sqlite3.connect(path.parent / "hill.db")) as base, base:
        base.execute(change)
    refused(path, f"{message}.*restore the storage from a copy")


def test_a_time_that_no_clock_shows_is_left_out():
    x = FloatDistribution(0.0, 1.0)
    trial = create_trial(params={"x": 0.5}, distributions={"x": x}, value=1.0)
    trial.datetime_start = datetime(1, 1, 1)
    with pytest.warns(UserWarning, match="wrong conditions"):
        assert conditions_of(trial, ["drift"]) == (None, None)

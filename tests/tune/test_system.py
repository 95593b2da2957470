"""What differs between operating systems: a system without fcntl, termios, fork and /proc."""

from __future__ import annotations

import os
import subprocess
import sys
import types

import pytest

from surefoot.tune import StudyFile, system
from surefoot.tune.ask_tell.ask_tell import open_ask_tell
from surefoot.tune.running import run
from surefoot.tune.study import trial_owner

WITHOUT = """
import asyncio, multiprocessing, os, pathlib, signal, subprocess, sys
for module in ("fcntl", "grp", "pwd", "resource", "termios", "tty"):
    sys.modules[module] = None
for name in ("fork", "forkpty", "getpgid", "killpg", "mkfifo", "pread", "setsid", "WIFSIGNALED"):
    delattr(os, name)
for name in ("SIGCHLD", "SIGHUP", "SIGKILL", "pthread_sigmask"):
    delattr(signal, name)

def absent(do):
    def found(path, *given, **named):
        if str(path).startswith("/proc"):
            raise FileNotFoundError(2, "No such file or directory", path)
        return do(path, *given, **named)
    return found

import builtins, io
os.stat, os.readlink, os.listdir = map(absent, (os.stat, os.readlink, os.listdir))
builtins.open = io.open = absent(open)
"""
WORK = (
    WITHOUT
    + """
import optuna
import surefoot as sf
from surefoot.__main__ import main
from surefoot.integrations.optuna import SurefootSampler, belief
from surefoot.tune import StudyFileError, open_ask_tell, run, system
from surefoot.tune.report import write_report

optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), seed=0)
query = optimizer.ask()
optimizer.tell(query, 1.0)
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(sampler=SurefootSampler(seed=0))
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
path = pathlib.Path(sys.argv[1])
for _ in range(2):
    asked = open_ask_tell(path).ask(2)
    for one in asked:
        open_ask_tell(path).tell(one.id, one.params["threads"])
write_report(path, path.with_name("report.html"))
for opening in (run, lambda path: sf.tune.check.check(path, None, print, {})):
    import surefoot.tune.check
    try:
        opening(path.with_name("measured.toml"))
    except system.NoProcesses as error:
        print(error)
print(path.with_name("measured.db").exists(), "surefoot.tune.measuring.supervisor" in sys.modules)
sys.argv = ["surefoot", "status", str(path)]
main()
"""
)
STUDY = """
study = { name = "there", direction = "minimize", rounds = 20 }
parameters = { threads = { type = "int", low = 1, high = 32, default = 4 } }
"""


@pytest.mark.long
def test_all_but_measuring_works_without_posix(tmp_path):
    path = tmp_path / "there.toml"
    path.write_text(STUDY)
    measured = STUDY.replace("there", "measured") + 'objective = { command = "echo {threads}" }\n'
    (tmp_path / "measured.toml").write_text(measured)
    command = [sys.executable, "-c", WORK, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *refused, created, status = done.stdout.splitlines()
    assert len(refused) == 2
    assert all(line.startswith("measuring a command needs Linux or macOS") for line in refused)
    assert (created, status) == ("False False", "there: 4 of 20 rounds")
    assert (tmp_path / "report.html").stat().st_size > 1_000_000


@pytest.mark.long
def test_the_command_line_starts_without_posix(tmp_path):
    path = tmp_path / "there.toml"
    path.write_text(STUDY)
    given = [["ask", str(path)], ["tell", str(path), "0", "3"], ["status", str(path)]]
    script = f"""{WITHOUT}
from surefoot.__main__ import main
for sys.argv[1:] in {given}:
    try:
        main()
    except SystemExit as ended:
        assert not ended.code
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("there: 1 of 20 rounds\n")


def test_nothing_is_created_where_nothing_can_be_measured(write_study, monkeypatch):
    path = write_study()
    before = sorted(path.parent.iterdir())
    monkeypatch.delattr(os, "fork")
    with pytest.raises(system.NoProcesses, match="needs Linux or macOS"):
        run(path)
    assert sorted(path.parent.iterdir()) == before


class Msvcrt(types.SimpleNamespace):
    """Windows's locks of a byte at the position of a file, one holder each."""

    LK_NBLCK = 2

    def __init__(self):
        super().__init__(held=set(), tries=0)

    def locking(self, descriptor, mode, count):
        self.tries += 1
        at = os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR)
        if (mode, count) != (self.LK_NBLCK, 1) or at in self.held:
            raise PermissionError(13, "Permission denied")
        self.held.add(at)


def test_a_lock_of_windows_is_beyond_the_file_and_is_waited_for(tmp_path, monkeypatch):
    windows = Msvcrt()
    monkeypatch.setattr(system, "fcntl", None)
    monkeypatch.setattr(system, "msvcrt", windows)
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    with path.open("rb") as file:
        assert system.try_lock(file.fileno())
        assert not system.try_lock(file.fileno())
        ((_, position),) = windows.held
        assert position > path.stat().st_size
        monkeypatch.setattr(system.time, "sleep", lambda _: windows.held.clear())
        system.lock(file.fileno())
        assert windows.tries == 4
    monkeypatch.setattr(system, "msvcrt", None)
    with path.open("rb") as file, pytest.raises(OSError, match="no locks"):
        system.try_lock(file.fileno())


def test_a_lock_excludes_another_process(tmp_path):
    path = tmp_path / "file"
    path.touch()
    with path.open("rb") as one:
        assert system.try_lock(one.fileno())
        with path.open("rb") as other:
            assert not system.try_lock(other.fileno())
    with path.open("rb") as other:
        assert system.try_lock(other.fileno())


def test_a_journal_is_written_under_the_locks_of_windows(tmp_path, monkeypatch):
    path = tmp_path / "there.toml"
    path.write_text(STUDY.replace("rounds = 20", 'rounds = 20, storage = "journal:///j.log"'))
    (one,) = open_ask_tell(path).ask()
    windows = Msvcrt()
    closing = os.close

    def close(descriptor):
        windows.held.clear()
        closing(descriptor)

    monkeypatch.setattr(system, "fcntl", None)
    monkeypatch.setattr(system, "msvcrt", windows)
    monkeypatch.setattr(os, "close", close)
    monkeypatch.setattr(system.time, "sleep", lambda _: windows.held.clear())
    with (tmp_path / "j.log").open("ab") as journal:
        journal.write(b'{"op_code": 4, "wor')  # of a process that was killed
    assert open_ask_tell(path).tell(one.id, 3).finished == 1
    monkeypatch.undo()
    assert open_ask_tell(path).status().finished == 1
    assert windows.tries > 0


@pytest.mark.parametrize("listed", ["Thu Nov 26 01:00:00 2026", "", None])
def test_births_of_processes_without_proc(listed, monkeypatch):
    def listing(command, **_):
        if listed is None:
            raise FileNotFoundError(command[0])
        return types.SimpleNamespace(stdout=f"{listed}\n")

    def absent(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(system.Path, "read_text", absent)
    monkeypatch.setattr(system.Path, "exists", lambda _: False)
    monkeypatch.setattr(system.subprocess, "run", listing)
    found = {"Thu Nov 26 01:00:00 2026": listed, "": None, None: "unknown"}[listed]
    assert system.born(4) == found
    mine = {"pid": 4, "born": system.born(4), "run": "a"}
    assert not trial_owner.is_gone(mine), "the same process"


def test_an_output_of_a_system_without_terminals_is_open(monkeypatch):
    monkeypatch.setattr(system, "termios", None)
    assert not system.is_closed_terminal(1)


def test_study_files_say_what_to_do_without_processes(write_study, monkeypatch):
    monkeypatch.delattr(os, "fork")
    StudyFile.load(write_study())
    with pytest.raises(system.NoProcesses, match="`surefoot ask` and `surefoot tell` work here"):
        system.check_processes()

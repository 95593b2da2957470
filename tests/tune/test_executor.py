"""Measurements by a `concurrent.futures.Executor`: what is refused, recorded, and given up."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from optuna.samplers import RandomSampler

from surefoot import InvalidInput
from surefoot.integrations.optuna import INTERRUPTED, WORKER
from surefoot.tune import open_study, run
from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.stopping import Stop
from surefoot.tune.workers import executor
from surefoot.tune.workers.executor import ExecutorFailed, ExecutorObjective, executor_of

PATIENCE = 120.0  # seconds for programs to start on a busy machine
PARAMS = {"size": 600, "share": 0.25, "mode": "OFF"}
MODULE = """
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

threads = lambda: ThreadPoolExecutor(2)
processes = lambda: ProcessPoolExecutor(1)
nothing = lambda: None
number = 3

def unreachable():
    raise OSError("no scheduler at 10.0.0.1:8786\\nand more")

class Lossy(Executor):
    def submit(self, function, *arguments):
        future = Future()
        if function.__name__ == "_check":
            future.set_result(None)
        else:
            future.set_exception(RuntimeError("worker is gone"))
        return future
"""
FAULTS = {
    "": "expected module:name of a function",
    "engines_of_tests": "expected module:name of a function",
    "engines_of_tests:": "expected module:name of a function",
    ":threads": "expected module:name of a function",
    "engines_of_tests:a b": "expected module:name of a function",
    **dict.fromkeys(
        ("engines_of_tests:nothing", "engines_of_tests:absent"),
        "is no function that returns a `concurrent.futures.Executor`: got None",
    ),
    "engines_of_tests:number": "`concurrent.futures.Executor`: got ",
}
FAILURES = {
    "absent_module:threads": "ModuleNotFoundError",
    "engines_of_tests:unreachable": "OSError: no scheduler at",
}


@pytest.fixture
def engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module beside the study file, whose functions return executors."""
    (tmp_path / "engines_of_tests.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    sys.modules.pop("engines_of_tests", None)


@pytest.mark.usefixtures("engines")
@pytest.mark.parametrize("given", FAULTS)
def test_what_names_no_executor_is_refused(write_study, given):
    with pytest.raises(InvalidInput, match=FAULTS[given]):
        executor_of(StudyFile.load(write_study()), given)


@pytest.mark.usefixtures("engines")
@pytest.mark.parametrize("given", FAILURES)
def test_an_executor_that_cannot_be_made_is_one_line_and_creates_nothing(write_study, given):
    path = write_study()
    with pytest.raises(ExecutorFailed, match=f"executor {given}: {FAILURES[given]}") as caught:
        run(path, executor=given, quiet=True)
    assert "\n" not in str(caught.value)
    assert not (path.parent / "hill.db").exists()


@pytest.mark.usefixtures("engines")
def test_a_study_that_has_its_rounds_needs_no_executor(write_study):
    path = write_study()
    run(path, rounds=2, quiet=True, sampler=RandomSampler(seed=0))
    outcome = run(path, rounds=2, executor="engines_of_tests:unreachable", quiet=True)
    assert (outcome.stopped, outcome.summary.trials) == (False, 2)
    with pytest.raises(ExecutorFailed, match="no scheduler"):
        run(path, rounds=3, executor="engines_of_tests:unreachable", quiet=True)


@pytest.mark.usefixtures("engines")
def test_processes_cannot_be_kept_by_an_executor(write_study):
    path = write_study(("timeout = 30", "timeout = 30\nkeep = true"))
    with pytest.raises(StudyFileError, match=r"objective\.keep: got true, expected false"):
        run(path, executor="engines_of_tests:threads", quiet=True)


@pytest.mark.usefixtures("engines")
def test_a_command_that_workers_lack_is_refused_before_a_study_exists(write_study):
    path = write_study(command="no-such-program {size} {share} {mode}")
    with pytest.raises(StudyFileError, match=r"objective\.command: on a worker of .*no-such"):
        run(path, executor="engines_of_tests:threads", quiet=True)
    assert not (path.parent / "hill.db").exists()


@pytest.mark.usefixtures("engines")
def test_a_lost_measurement_ends_the_run_and_is_no_round(write_study):
    path = write_study()
    with pytest.raises(ExecutorFailed, match="worker is gone; all recorded trials are kept"):
        run(path, executor="engines_of_tests:Lossy", quiet=True, sampler=RandomSampler(seed=0))
    (trial,) = open_study(path).study.trials
    assert trial.user_attrs[INTERRUPTED]


@pytest.mark.parametrize("kind", ["threads", "processes"])
@pytest.mark.usefixtures("engines")
def test_a_worker_measures_as_this_machine_does(write_study, kind):
    study_file = StudyFile.load(write_study())
    objective = ExecutorObjective(study_file, f"engines_of_tests:{kind}", uuid.uuid4().hex)
    result = objective.measure(PARAMS, Stop())
    assert isinstance(result, Measurement)
    assert (result.value, result.worker) == (0.5, socket.gethostname())
    objective.close()


@pytest.mark.usefixtures("engines")
def test_what_reports_its_worker_keeps_that_name_and_a_failure_has_one_too(write_study):
    bench = "import sys\nprint('worker=rack1')\nprint(1.0)\nsys.exit(sys.argv[3] == 'OFF')\n"
    study_file = StudyFile.load(write_study(bench=bench))
    objective = ExecutorObjective(study_file, "engines_of_tests:threads", uuid.uuid4().hex)
    assert objective.measure({**PARAMS, "mode": "FULL"}, Stop()).worker == "rack1"
    failed = objective.measure(PARAMS, Stop())
    assert isinstance(failed, Failure)
    assert failed.worker
    objective.close()


@pytest.mark.usefixtures("engines")
def test_a_function_keeps_its_state_on_a_worker_during_a_run(write_study, tmp_path):
    path = write_study(('command = "', 'function = "counting:measure" # "'))
    (tmp_path / "counting.py").write_text(
        "calls = []\ndef measure(size, share, mode):\n    calls.append(size)\n"
        "    return len(calls)\n"
    )
    values = []
    first, second = uuid.uuid4().hex, uuid.uuid4().hex
    for name in (first, first, second):  # of the first run two processes measure here
        objective = ExecutorObjective(StudyFile.load(path), "engines_of_tests:threads", name)
        values += [objective.measure(PARAMS, Stop()).value for _ in range(2)]
        objective.close()
    executor._here._close()
    assert values == [1.0, 2.0, 3.0, 4.0, 1.0, 2.0]


class Waiting(ThreadPoolExecutor):
    """An executor without a free worker."""

    def submit(self, function: Any, *arguments: Any) -> Future:
        self.future: Future = Future()
        return self.future


@pytest.mark.parametrize("ends", [KeyboardInterrupt, SystemExit])
def test_a_stop_gives_a_waiting_measurement_up(write_study, monkeypatch, ends):
    waiting = Waiting()
    monkeypatch.setattr(executor, "executor_of", lambda *_: waiting)
    objective = ExecutorObjective(StudyFile.load(write_study()), "any:one", uuid.uuid4().hex)

    def look() -> None:
        raise ends

    with pytest.raises(ends):
        objective.measure(PARAMS, Stop(look))
    assert waiting.future.cancelled()


def test_an_executor_that_breaks_says_so(write_study, monkeypatch):
    waiting = Waiting()
    monkeypatch.setattr(executor, "executor_of", lambda *_: waiting)
    objective = ExecutorObjective(StudyFile.load(write_study()), "any:one", uuid.uuid4().hex)
    timer = threading.Timer(0.05, lambda: waiting.future.set_exception(BrokenExecutor("killed")))
    timer.start()
    with pytest.raises(ExecutorFailed, match="executor any:one: BrokenExecutor: killed"):
        objective.measure(PARAMS, Stop())


@pytest.mark.long
def test_a_killed_run_goes_on_with_all_workers_of_a_dask_cluster(write_study, tmp_path):
    """A scheduler and two workers; the study has its rounds once, each measured there."""
    pytest.importorskip("distributed")
    bench = "import sys, time\ntime.sleep(0.2)\nprint('worker=' + sys.argv[0])\nprint(1.0)\n"
    path = write_study(bench=bench)
    with _DaskProcesses(tmp_path) as address:
        (tmp_path / "dask_of_tests.py").write_text(
            "from distributed import Client\n\n\ndef engine():\n"
            f"    client = Client({address!r}, set_as_default=False)\n"
            "    return client.get_executor(pure=False, retries=0)\n"
        )
        given = ["--executor", "dask_of_tests:engine", "--workers", "2", "--quiet"]
        command = [sys.executable, "-m", "surefoot", "tune", str(path), *given]
        started = subprocess.Popen(command)
        _wait_until(lambda: _finished(path) >= 2)
        started.send_signal(signal.SIGKILL)
        started.wait()
        before = _finished(path)
        subprocess.run(command, check=True)
    trials = open_study(path).study.trials
    complete = [trial for trial in trials if trial.value is not None]
    assert before <= len(complete) == 8
    assert all(WORKER in trial.user_attrs for trial in complete)
    assert not any(trial.state.name == "RUNNING" for trial in trials)


def _finished(path: Path) -> int:
    if not (path.parent / "hill.db").exists():
        return 0
    return sum(trial.value is not None for trial in open_study(path).study.trials)


class _DaskProcesses:
    """A scheduler and two workers, in processes of their own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{unused.getsockname()[1]}"
        self._folder, self._processes = folder, []

    def __enter__(self) -> str:
        host, port = self.address.split(":")
        self._start("scheduler", "--host", host, "--port", port)
        for name in ("alpha", "beta"):
            self._start("worker", f"tcp://{self.address}", "--name", name, "--no-nanny")
        from distributed import Client

        with Client(f"tcp://{self.address}", timeout=PATIENCE, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=PATIENCE)
        return f"tcp://{self.address}"

    def __exit__(self, *error: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    def _start(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]]
        with (self._folder / "dask.log").open("ab") as log:
            self._processes.append(
                subprocess.Popen(
                    [*command, "--no-dashboard"], stdout=log, stderr=log, env=dict(os.environ)
                )
            )


def _wait_until(condition: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)

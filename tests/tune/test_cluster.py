"""Measurements on the workers of a cluster: what is refused, what is recorded, what ends."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from optuna.samplers import RandomSampler

from surefoot import InvalidInput
from surefoot.integrations.optuna import WORKER
from surefoot.tune import open_study, run
from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.measuring.measurement import Measurement
from surefoot.tune.stopping import Stop
from surefoot.tune.workers import cluster
from surefoot.tune.workers.cluster import ClusterFailed, ClusterObjective, check_backend, package_of

PATIENCE = 120.0  # seconds for programs to start on a busy machine


@dataclass
class ThreadCall:
    """A task in a thread."""

    thread: threading.Thread
    cancelled: threading.Event
    results: list[Any]

    def done(self, seconds: float) -> bool:
        self.thread.join(seconds)
        return not self.thread.is_alive()

    def result(self) -> Any:
        return self.results[0]

    def cancel(self) -> None:
        self.cancelled.set()


@dataclass
class ThreadCluster:
    """A cluster whose workers are threads."""

    calls: list[ThreadCall] = field(default_factory=list)
    closed: bool = False

    def workers(self) -> dict[str, str]:
        return {"alpha": "1", "beta": "2"}

    def start(self, name: str, task: Any, *arguments: Any) -> ThreadCall:
        cancelled, results = threading.Event(), []

        def work() -> None:
            try:
                results.append(task(cancelled.is_set, *arguments))
            except ClusterFailed as error:
                results.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        self.calls.append(ThreadCall(thread, cancelled, results))
        return self.calls[-1]

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def threads(monkeypatch):
    connected = ThreadCluster()
    monkeypatch.setattr(cluster, "connect_cluster", lambda backend: connected)
    return connected


@pytest.mark.parametrize(
    "backend",
    ["", "dask", "dask://", "dask://host", "ray://host:port", "spark://host:1", "dask://host:1/x"],
)
def test_a_malformed_backend_is_refused(backend):
    with pytest.raises(InvalidInput, match="expected local, ray, ray://HOST:PORT"):
        check_backend(backend)


def test_a_package_that_is_missing_is_named_with_its_extra():
    with pytest.raises(InvalidInput, match=r"in a checkout .*pip install '\.\[ray\]'"):
        package_of("ray://head:10001", "no_such_package")


@pytest.mark.parametrize("scheme", ["dask", "ray"])
def test_a_cluster_that_cannot_be_reached_is_one_line_and_creates_nothing(write_study, scheme):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    path = write_study()
    with pytest.raises(ClusterFailed, match="no cluster can be reached there") as caught:
        run(path, backend=f"{scheme}://127.0.0.1:{port}", quiet=True)
    assert "\n" not in str(caught.value)
    assert not (path.parent / "hill.db").exists()


@pytest.mark.slow
def test_a_study_that_has_its_rounds_needs_no_cluster(write_study):
    path = write_study()
    run(path, rounds=2, quiet=True, sampler=RandomSampler(seed=0))
    outcome = run(path, rounds=2, backend="dask://127.0.0.1:1", quiet=True)
    assert (outcome.stopped, outcome.summary.trials) == (False, 2)
    with pytest.raises(ClusterFailed, match="no cluster can be reached there"):
        run(path, rounds=3, backend="dask://127.0.0.1:1", quiet=True)


def test_processes_cannot_be_kept_on_a_cluster(write_study):
    path = write_study(("timeout = 30", "timeout = 30\nkeep = true"))
    with pytest.raises(StudyFileError, match=r"objective\.keep: got true, expected false"):
        run(path, backend="dask://127.0.0.1:1", quiet=True)


@pytest.mark.usefixtures("threads")
def test_a_command_that_workers_lack_is_refused_before_a_study_exists(write_study):
    path = write_study(command="no-such-program {size} {share} {mode}")
    with pytest.raises(StudyFileError, match=r"objective\.command: on worker alpha: .*no-such"):
        run(path, backend="dask://127.0.0.1:1", quiet=True)
    assert not (path.parent / "hill.db").exists()


def test_a_worker_measures_as_this_machine_does(write_study, threads):
    objective = ClusterObjective("dask://127.0.0.1:1", "alpha", StudyFile.load(write_study()))
    result = objective.measure({"size": 600, "share": 0.25, "mode": "OFF"}, Stop())
    assert isinstance(result, Measurement)
    assert result.value == 0.5
    objective.close()
    assert threads.closed


def test_a_function_keeps_its_state_on_the_worker_until_the_objective_is_closed(
    write_study, threads, tmp_path
):
    path = write_study(('command = "', 'function = "counting:measure" # "'))
    (tmp_path / "counting.py").write_text(
        "calls = []\ndef measure(size, share, mode):\n    calls.append(size)\n"
        "    return len(calls)\n"
    )
    for _ in range(2):
        objective = ClusterObjective("dask://127.0.0.1:1", "alpha", StudyFile.load(path))
        params = {"size": 600, "share": 0.25, "mode": "OFF"}
        values = [objective.measure(params, Stop()).value for _ in range(3)]
        objective.close()
        assert values == [1.0, 2.0, 3.0]


def test_a_stop_ends_the_command_on_the_worker(write_study, threads, tmp_path):
    bench = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    objective = ClusterObjective(
        "dask://127.0.0.1:1", "alpha", StudyFile.load(write_study(bench=bench))
    )
    file = tmp_path / "pid"

    def look() -> None:
        if file.exists() and file.read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        objective.measure({"size": 600, "share": 0.25, "mode": "OFF"}, Stop(look))
    threads.calls[-1].thread.join(20.0)
    assert not _is_alive(int(file.read_text()))
    assert isinstance(threads.calls[-1].result(), ClusterFailed)


@pytest.mark.long
def test_a_killed_driver_loses_nothing_and_its_command_ends(write_study, tmp_path):
    """A Dask scheduler with two workers; the resumed run uses both."""
    pytest.importorskip("distributed")
    bench = (
        "import os, pathlib, sys, time\n"
        "seconds = pathlib.Path('seconds').read_text().split()\n"
        "known = os.path.exists('began') and open('began').read().count('\\n')\n"
        "open('began', 'a').write(f'{os.getpid()}\\n')\n"
        "time.sleep(float(seconds[min(known, len(seconds) - 1)]))\n"
        "print(float(sys.argv[2]))\n"
    )
    path = write_study(bench=bench)
    with _DaskProcesses(tmp_path) as backend:
        (tmp_path / "seconds").write_text("0 0 60")
        command = [sys.executable, "-m", "surefoot", "tune", str(path), "--backend", backend]
        driver = subprocess.Popen([*command, "--workers", "1"], stdout=subprocess.DEVNULL)
        _wait_until(lambda: len(_pids(tmp_path)) >= 3)
        driver.kill()
        driver.wait()
        _wait_until(lambda: not any(map(_is_alive, _pids(tmp_path))))
        before = [trial.value for trial in open_study(path).study.trials[:2]]
        (tmp_path / "seconds").write_text("0.5")
        run(path, rounds=6, backend=backend, quiet=True)
    trials = open_study(path).study.trials
    complete = [trial for trial in trials if trial.value is not None]
    assert None not in before
    assert [trial.value for trial in complete][:2] == before
    assert len(complete) == 6
    assert {trial.user_attrs[WORKER] for trial in trials[2:]} == {"alpha", "beta"}
    assert not any(trial.state.name == "RUNNING" for trial in trials)


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
        return f"dask://{self.address}"

    def __exit__(self, *error: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    def _start(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]]
        with (self._folder / "dask.log").open("ab") as log:
            self._processes.append(
                subprocess.Popen([*command, "--no-dashboard"], stdout=log, stderr=log)
            )


def _pids(folder: Path) -> list[int]:
    file = folder / "began"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _wait_until(condition: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    for _ in itertools.takewhile(lambda _: not condition(), itertools.count()):
        assert time.monotonic() < deadline
        time.sleep(0.1)

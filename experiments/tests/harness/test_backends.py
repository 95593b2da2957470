"""Trials give the same numbers on every backend, and workers end with their parent."""

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

from surefoot import InvalidInput
from surefoot_experiments import find
from surefoot_experiments.harness import backends
from surefoot_experiments.harness.backends import run_trials
from surefoot_experiments.harness.trial import Trial
from surefoot_experiments.recorded_data import Data

PRICES = Data("made up", {"prices": np.random.default_rng(0).lognormal(3.0, 0.5, (60, 12))})
TRIALS = [Trial(number, 40, 3, PRICES) for number in range(4)]
EXPERIMENT = find("heavy-tails-1d")  # whose trials carry data


def results(jobs: int = 1, backend: str = "loky") -> dict[int, object]:
    found = list(run_trials(EXPERIMENT.run, TRIALS, jobs, backend))
    assert all(record.seconds >= 0 for record in found)
    return {record.trial: record.tables for record in found}


@pytest.mark.long
def test_two_processes_give_the_same_numbers_as_one():
    assert results(jobs=2) == results()


@pytest.mark.long
def test_a_cluster_gives_the_same_numbers():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        processes=True, n_workers=1, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address.removeprefix("tcp://")
        assert results(backend=f"dask://{address}") == results()


@pytest.mark.long
def test_no_scheduler_is_said_in_words(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(backends, "_TIMEOUT", "0.5s")
    with pytest.raises(InvalidInput, match=r"dask://127\.0\.0\.1:9: no scheduler answers"):
        results(backend="dask://127.0.0.1:9")


def test_a_backend_that_is_not_installed_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InvalidInput, match=r"needs ray; in a checkout .*\[cluster"):
        results(backend="ray://127.0.0.1:9")


@pytest.mark.parametrize("package", ["distributed", "ray"])
def test_the_extra_for_clusters_has_what_clusters_need(package):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extra = project["project"]["optional-dependencies"]["cluster"]
    assert any(requirement.startswith(package) for requirement in extra)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{process}/stat")  # a zombie, which nobody has waited for
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="workers are not watched there")
def test_workers_end_with_a_process_that_is_killed(tmp_path):
    program = f"""
import sys, time
sys.path[:0] = {[*sys.path, str(tmp_path)]!r}
from surefoot_experiments.harness.backends import run_trials
from surefoot_experiments.harness.trial import Trial
from sleepy import run
list(run_trials(run, [Trial(number, 1, 0) for number in range(2)], 2))
"""
    (tmp_path / "sleepy.py").write_text(
        "import os, pathlib, time\n"
        "def run(trial):\n"
        f"    pathlib.Path({str(tmp_path)!r}, f'{{os.getpid()}}.pid').touch()\n"
        "    time.sleep(300)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(tmp_path)])}
    parent = subprocess.Popen([sys.executable, "-c", program], env=environment)
    workers: list[int] = []
    try:
        end = time.monotonic() + 120
        while len(workers) < 2:
            assert time.monotonic() < end, "no workers in time"
            assert parent.poll() is None
            time.sleep(0.05)
            workers = [int(path.stem) for path in tmp_path.glob("*.pid")]
        parent.kill()
        parent.wait()
        end = time.monotonic() + 60
        while any(alive(worker) for worker in workers):
            assert time.monotonic() < end, "a worker is still there"
            time.sleep(0.05)
    finally:
        parent.kill()
        parent.wait()
        for worker in workers:
            if alive(worker):
                os.kill(worker, signal.SIGKILL)

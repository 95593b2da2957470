"""The same numbers wherever trials are played."""

import tomllib
from pathlib import Path

import numpy as np
import pytest
from surefoot_experiments.backends import play_all
from surefoot_experiments.data import Data
from surefoot_experiments.experiment import Trial

from surefoot.types import InvalidInput
from surefoot_experiments import backends, find

PRICES = Data("made up", {"prices": np.random.default_rng(0).lognormal(3.0, 0.5, (60, 12))})
TRIALS = [Trial(number, 40, 3, PRICES) for number in range(4)]
EXPERIMENT = find("heavy-tails-1d")  # whose trials carry data


def played(jobs: int = 1, backend: str = "loky") -> dict[int, object]:
    found = list(play_all(EXPERIMENT.play, TRIALS, jobs, backend))
    assert all(seconds >= 0 for _, _, seconds in found)
    return {number: rows for number, rows, _ in found}


def test_two_processes_play_what_one_plays():
    assert played(jobs=2) == played()


def test_a_cluster_of_two_workers_plays_what_one_process_plays():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        processes=True, n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address.removeprefix("tcp://")
        assert played(backend=f"dask://{address}") == played()


def test_no_scheduler_is_said_in_words(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(backends, "_PATIENCE", "0.5s")
    with pytest.raises(InvalidInput, match=r"dask://127\.0\.0\.1:9: no scheduler answers there"):
        played(backend="dask://127.0.0.1:9")


def test_a_backend_that_is_not_installed_names_the_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(InvalidInput, match=r"a Ray cluster needs ray: pip install 'surefoot\[clu"):
        played(backend="ray://127.0.0.1:9")


@pytest.mark.parametrize("package", ["distributed", "ray"])
def test_the_extra_for_clusters_has_what_clusters_need(package):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extra = project["project"]["optional-dependencies"]["cluster"]
    assert any(requirement.startswith(package) for requirement in extra)

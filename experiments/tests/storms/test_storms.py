"""The storms, in small: nothing survives, is lost or doubled, and no error is a traceback."""

from __future__ import annotations

from collections import Counter

import optuna
import pytest

from surefoot import InvalidInput, NotReady
from surefoot_experiments.storms import circumstances, study_files, tune_runs
from surefoot_experiments.storms.records import Event, table
from surefoot_experiments.storms.storm import run_storm


def problems(events: list[Event]) -> list[str]:
    return [one.detail for one in events if not one.is_clean]


@pytest.mark.long
def test_malformed_study_files_are_valid_or_refused():
    outcomes = study_files.read_many(range(200))
    assert outcomes.keys() <= {"valid", "refused"}, outcomes
    assert outcomes["refused"] > 120
    assert outcomes["valid"] > 8


def test_the_storm_of_study_files_resumes(tmp_path, monkeypatch):
    read = []

    def read_many(seeds: range) -> Counter[str]:
        read.append(seeds)
        return Counter({"valid": len(seeds) - 1, "raw KeyError": 1})

    monkeypatch.setattr(study_files, "read_many", read_many)
    said = []
    assert len(run_storm("study-files", tmp_path, count=700, say=said.append)) == 2
    with pytest.raises(InvalidInput, match="continue with --resume"):
        run_storm("study-files", tmp_path, count=700)
    more = run_storm("study-files", tmp_path, count=1_200, resume=True, say=said.append)
    assert [one.index for one in more] == [2]
    assert [len(seeds) for seeds in read] == [500, 200, 200]
    assert "| study-files | malformed | 900 | 0 | 0 | 0 | 0 | 0 | 3 |" in said[-1]
    assert (tmp_path / "storms.md").read_text().rstrip() == said[-1]


def test_lost_and_doubled_results_are_counted():
    study = optuna.create_study()
    for value in (1.0, 2.0, 2.0):
        study.add_trial(optuna.create_trial(value=value))
    assert tune_runs.compare(study, {0: 1.0, 1: 2.0}) == (0, 1)
    assert tune_runs.compare(study, {0: 1.0, 1: 3.0, 5: 9.0}) == (2, 1)


def test_the_table():
    events = [Event("kill", "a", 0, 0, orphans=1), Event("kill", "a", 1, 0, lost=2)]
    assert table(events).splitlines()[-1] == "| kill | a | 2 | 0 | 1 | 2 | 0 | 0 | 0 |"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("rain", {}),
        ("kill", {"storage": "csv"}),
        ("kill", {"count": 0}),
        ("kill", {"workers": 0}),
        ("calls", {"seed": -1}),
    ],
)
def test_what_is_wrong_is_refused(tmp_path, name, options):
    with pytest.raises(InvalidInput):
        run_storm(name, tmp_path / "out", **{"count": 1, **options})
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").touch()
    with pytest.raises(InvalidInput, match=r"out/events.jsonl: cannot be written: File exists"):
        run_storm("study-files", tmp_path / "out", count=5)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "count"), [("calls", 700), ("events", 6), ("saved-files", 100), ("storages", 10)]
)
def test_storms_in_the_process(tmp_path, name, count):
    events = run_storm(name, tmp_path, count=count, seed=1)
    assert sum(one.count for one in events) == count
    assert problems(events) == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "storage", "count"),
    [
        ("kill", "sqlite", 2),
        ("terminate", "journal", 1),
        ("signals", "sqlite", 1),
        ("terminal", "sqlite", 1),
    ],
)
def test_runs_that_are_ended_at_random_moments(tmp_path, monkeypatch, name, storage, count):
    monkeypatch.setattr(tune_runs, "MEASURING", 1.0)
    events = run_storm(name, tmp_path, count=count, storage=storage)
    assert len(events) == count
    assert problems(events) == []


@pytest.mark.long
def test_workers_end_with_their_parent(tmp_path):
    events = run_storm("workers", tmp_path, count=2, workers=2)
    assert sum(one.count for one in events) == 4
    assert problems(events) == []


@pytest.mark.long
@pytest.mark.parametrize("name", circumstances.CIRCUMSTANCES)
def test_runs_under_what_happens_to_them(tmp_path, monkeypatch, name):
    monkeypatch.setattr(circumstances, "OUTPUT", 200_000_000)
    try:
        events = run_storm(name, tmp_path, count=1)
    except NotReady as error:
        pytest.skip(str(error))
    assert len(events) == 1
    assert problems(events) == []

"""Runs of different machines on one database."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
from optuna.trial import TrialState, create_trial

from surefoot import InvalidInput, NotReady
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.study.stored_file import locate
from surefoot.tune.study.study_lock import study_lock
from surefoot_experiments.storms import hosts
from surefoot_experiments.storms.servers import postgresql
from surefoot_experiments.storms.storm import run_storm
from surefoot_experiments.storms.study_text import study_text


@pytest.fixture
def database():
    """The URL of a PostgreSQL server."""
    pytest.importorskip("psycopg")
    # The path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="surefoot-", dir="/tmp") as folder:
        try:
            with postgresql(Path(folder)) as url:
                yield url
        except NotReady as error:
            pytest.skip(f"needs PostgreSQL: {error}")


def trial(number: int, value: float | None, mode: str = "a") -> SimpleNamespace:
    state = TrialState.RUNNING if value is None else TrialState.COMPLETE
    frozen = create_trial(state=state, value=value)
    return SimpleNamespace(
        number=number,
        value=value,
        state=state,
        user_attrs=frozen.user_attrs,
        params={"x": 3, "mode": mode},
    )


def test_the_records_are_compared():
    log = "0 10 3 a 1.5 1\n5 15 3 a 2.5 2\n20 30 3 a 3.5 2\n40 50 3 a 4.5 1\n"
    found = hosts.compare([trial(0, 1.5), trial(1, 2.5), trial(2, 3.5)], log, 3, killed={1})
    assert found == {
        "rounds": 3,
        "lost": 0,
        "doubled": 0,
        "simultaneous": 1,
        "identical": 1,
        "running": 0,
    }
    assert hosts.compare([trial(0, 1.5), trial(1, 2.5)], log, 3, killed={1})["lost"] == 2
    doubled = [trial(0, 1.5), trial(1, 1.5), trial(2, 3.5, mode="b"), trial(3, None)]
    found = hosts.compare(doubled, log, 2, killed=set())
    assert (found["doubled"], found["running"]) == (3, 1)


def test_other_storages_and_storms_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="expected postgresql"):
        run_storm("hosts", tmp_path, count=1)
    with pytest.raises(InvalidInput, match="'hosts' only"):
        run_storm("kill", tmp_path, count=1, url="postgresql://host/name")


def test_the_lock_of_a_server_excludes_other_copies_of_the_study_file(database, tmp_path):
    copies = []
    for name in ("here", "there"):
        folder = tmp_path / name
        folder.mkdir()
        text = study_text(hosts.TABLES, rounds=3, storage=database)
        (folder / "study.toml").write_text(text)
        copies.append(locate(StudyFile.load(folder / "study.toml")))
    waits = []

    class Waited(Exception):
        pass

    def wait(seconds: float) -> None:
        waits.append(seconds)
        raise Waited

    with study_lock(copies[0]), pytest.raises(Waited), study_lock(copies[1], wait):
        pass
    with study_lock(copies[1], wait):
        assert len(waits) == 1


def test_a_small_storm_loses_and_doubles_nothing(database, tmp_path):
    search = hosts.SEARCHES["random"]._replace(rounds=20)
    folder = tmp_path / "storm"
    folder.mkdir()
    found = hosts.storm(database, folder, search=search, processes=3, kills=1, random=Random(0))
    assert (found.rounds, found.killed) == (20, 1), found
    assert not found.lost + found.doubled + found.running + found.orphans + found.raw, found

"""A short storm: processes that share a study, of which one is killed."""

from functools import partial
from pathlib import Path

import pytest

from support.processes import Forked
from surefoot_experiments.storms import optuna_storm


@pytest.mark.long
@pytest.mark.parametrize(
    ("storage", "space", "workers"),
    [("sqlite:///{}/storm.db", "continuous", 3), ("journal:///{}/storm.log", "discrete", 2)],
)
def test_nothing_is_lost_and_nothing_is_measured_twice_at_once(
    storage: str, space: str, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optuna_storm, "_start", partial(Forked, optuna_storm.work))
    location = storage.format(tmp_path)
    outcome = optuna_storm.storm(location, trials=18, workers=workers, kills=1, space=space, seed=0)
    assert outcome.trials >= 18
    assert outcome.killed == 1
    wrong = (outcome.raised, outcome.lost, outcome.doubled, outcome.identical)
    assert wrong == (0, 0, 0, 0), outcome

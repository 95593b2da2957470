"""A short storm: processes that share a study, of which one is killed."""

from pathlib import Path

import pytest

from surefoot_experiments.storms.optuna_storm import storm


@pytest.mark.slow
@pytest.mark.parametrize(
    ("storage", "space", "workers"),
    [("sqlite:///{}/storm.db", "continuous", 3), ("journal:///{}/storm.log", "discrete", 2)],
)
def test_nothing_is_lost_and_nothing_is_measured_twice_at_once(
    storage: str, space: str, workers: int, tmp_path: Path
) -> None:
    location = storage.format(tmp_path)
    outcome = storm(location, trials=18, workers=workers, kills=1, space=space, seed=0)
    assert outcome.trials >= 18
    assert outcome.killed == 1
    wrong = (outcome.raised, outcome.lost, outcome.doubled, outcome.identical)
    assert wrong == (0, 0, 0, 0), outcome

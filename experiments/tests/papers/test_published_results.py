"""Results in the repository: complete, and of the settings that the experiments have now."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from surefoot_experiments import Plan, find, run
from surefoot_experiments.harness.store import MANIFEST, Result

RESULTS = Path(__file__).parents[2] / "results"
NAMES = sorted(path.parent.name for path in RESULTS.glob(f"*/{MANIFEST}"))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_published_result_can_be_continued(name, request, tmp_path):
    experiment = find(name)
    data = request.getfixturevalue("data") if experiment.needs_data else None
    shutil.copytree(RESULTS / name, tmp_path / name)
    manifest = Result.at(tmp_path / name).manifest
    plan = Plan(
        out=tmp_path,
        trials=manifest.trials,
        data=data,
        resume=True,
    )
    assert run(experiment, plan).kept  # nothing was run again
    assert manifest.departures == experiment.departures
    assert manifest.rounds == experiment.published.rounds

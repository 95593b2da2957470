"""The estimand of a study file, and what commands and pages call a value."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from support.study_doubles import Scripted, measurement, trials_of
from surefoot.cli import app
from surefoot.tune.definition.study_file import StudyFileError
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.stopping import Stop
from surefoot.tune.study.findings import summarise
from surefoot.tune.study.opened_study import open_study
from surefoot.tune.workers.worker_loop import tune


class Pauses(Scripted):
    """2 share + 20 with noise, and a pause of 10 in one measurement of five."""

    def measure(self, params: dict, stop: Stop) -> Measurement | Failure:
        self.asked.append(dict(params))
        number = len(self.asked)
        noise = 0.2 * np.random.default_rng([number, 6]).standard_normal()
        return measurement(2 * params["share"] + 20 + noise + 10 * (number % 5 == 4), 0.1)


def with_estimand(name: str) -> tuple[str, str]:
    return ("timeout = 30", f"timeout = 30\nestimand = '{name}'")


def measure_repeatedly(path: Path) -> None:
    """Measure eight configurations five times each, so that pauses are no peaks of a function."""
    shares = np.repeat(np.linspace(0.02, 0.98, 8), 5)
    trials = trials_of(path, rounds=len(shares))
    for share in shares:
        trials.opened.study.enqueue_trial({"share": share, "mode": "OFF", "size": 2000})
    tune(trials, Pauses(), Stop())


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_anything_else_is_an_error_that_names_the_key(write_study):
    with pytest.raises(StudyFileError, match=r"objective\.estimand.*expected 'location', 'median'"):
        open_study(write_study(with_estimand("mode")))


@pytest.mark.long
def test_the_estimand_may_be_changed_and_is_named_beside_every_value(write_study):
    path = write_study()
    measure_repeatedly(path)
    location = json.loads(run("recommend", path, "--json"))
    assert location["estimand"] == "location"
    assert "Recommended, with value 2" in run("recommend", path)
    share = location["params"]["share"]
    assert location["lower"] <= 2.0 * share + 20.0 <= location["upper"]
    (skewed,) = [line for line in location["warnings"] if line.startswith("The noise is skewed")]
    assert "`estimand = 'mean'` in [objective]" in skewed

    write_study(with_estimand("mean"))
    mean = json.loads(run("recommend", path, "--json"))
    assert mean["estimand"] == "mean"
    assert mean["params"] == location["params"]
    assert mean["lower"] <= 2.0 * share + 22.0 <= mean["upper"]
    assert not [line for line in mean["warnings"] if line.startswith("The noise is skewed")]
    assert "Recommended, with mean 2" in run("recommend", path)
    report = path.with_name("report.html")
    run("report", path, "-o", report)
    text = report.read_text(encoding="utf-8")
    assert "Mean of measurements, predicted at the recommended configuration" in text

    write_study(with_estimand("median"))
    median = summarise(open_study(path)).recommended
    assert median.estimand == "median"
    assert median.lower <= 2.0 * share + 20.0 <= median.upper < mean["value"]

    lines = run("tune", path, "--rounds", 41)
    assert "  |  recommended with median 2" in lines

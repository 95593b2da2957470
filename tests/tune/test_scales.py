"""Objectives on a log scale, and parameters with a step."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from support.study_doubles import Scripted, all_of, measurement, trials_of
from surefoot.parameters import Float, Space
from surefoot.tune import StudyFile, StudyFileError, import_table
from surefoot.tune.comparison.named_settings import named_setting
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.stopping import Stop
from surefoot.tune.study.compatibility import definition
from surefoot.tune.study.findings import summarise
from surefoot.tune.study.opened_study import open_study
from surefoot.tune.workers.worker_loop import tune
from surefoot.types import InvalidInput

LOG = ("timeout = 30", "timeout = 30\nlog = true")
STEP = ("low = 0, high = 1 }", "low = 0, high = 1, step = 0.25, default = 0.5 }")
DEFAULTS = (
    ("log = true }", "log = true, default = 4096 }"),
    ("low = 0, high = 1 }", "low = 0, high = 1, default = 0.9 }"),
    ('"FULL"] }', '"FULL"], default = "FULL" }'),
)


class Latency(Scripted):
    """exp(4 share), with multiplicative noise."""

    def measure(self, params: dict, stop: Stop) -> Measurement | Failure:
        self.asked.append(dict(params))
        noise = 0.2 * np.random.default_rng(len(self.asked)).standard_normal()
        return measurement(float(np.exp(4 * params["share"] + noise)), 0.1)


@pytest.mark.long
def test_predictions_are_medians_in_the_units_of_the_values(write_study):
    path = write_study(LOG, *DEFAULTS)
    tune(trials_of(path, rounds=18), Latency(), Stop())
    opened = open_study(path)
    model = opened.state().belief
    settings = [{"size": 4096, "share": share, "mode": "OFF"} for share in (0.2, 0.5, 0.8)]
    mean, lower, upper = model.predict(settings)
    assert np.all(lower > 0.0)
    assert np.log(mean) == pytest.approx([0.8, 2.0, 3.2], abs=0.25)
    assert upper[2] - mean[2] > mean[2] - lower[2]
    against = summarise(opened).defaults
    assert against is not None
    assert -1.0 < against.lower / against.value <= against.change / against.value < -0.8
    assert model.fitted.values.min() > 0.0
    assert 0.1 < model.fitted.noise_scale < 0.4


def test_a_value_without_a_logarithm_is_a_failure(write_study, tmp_path):
    path = write_study(LOG)
    trials = trials_of(path, rounds=2)
    tune(trials, Scripted([measurement(0.0, 0.1)]), Stop())
    failed, measured = all_of(trials)
    assert failed.user_attrs["failure"].startswith("the measurement is 0, expected a number above")
    assert measured.value == 1.0
    (tmp_path / "runs.csv").write_text("size,share,mode,value\n600,0.5,OFF,-1\n")
    with pytest.raises(InvalidInput, match="got '-1' in column 'value', expected a number above 0"):
        import_table(path, tmp_path / "runs.csv")


@pytest.mark.long
def test_a_step_restricts_what_is_measured_and_named(write_study):
    path = write_study(STEP, DEFAULTS[0], DEFAULTS[2])
    objective = Scripted()
    tune(trials_of(path, rounds=6), objective, Stop())
    assert {params["share"] for params in objective.asked} <= {0.0, 0.25, 0.5, 0.75, 1.0}
    study_file = StudyFile.load(path)
    with pytest.raises(InvalidInput, match=r"expected a number from 0 to 1 in steps of 0\.25"):
        named_setting(study_file, "size=600,share=0.3,mode=OFF")
    assert named_setting(study_file, "size=600,share=0.75,mode=OFF").params["share"] == 0.75


def test_values_on_a_grid_of_decimal_fractions_are_written_short():
    encoding = Space({"x": Float(0.0, 1.0, step=0.1)}).encoding
    values = [encoding.decode(torch.tensor([unit]).double())["x"] for unit in (0.3, 0.6, 0.7)]
    assert values == [0.3, 0.6, 0.7]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("high = 1, step = 0.3 }", "share.step: got 0.3, expected one that divides high - low = 1"),
        ("high = 1, step = 2 }", "parameters.share.step: got 2.0, expected one that divides"),
        ("high = 1, step = 0 }", "parameters.share.step: got 0, expected a finite number above 0"),
        ("high = 1, step = 0.5, default = 0.3 }", "share.default: got 0.3, expected a number from"),
    ],
)
def test_a_wrong_step_is_refused_in_one_line(write_study, change, message):
    with pytest.raises(StudyFileError) as refused:
        StudyFile.load(write_study(("high = 1 }", change)))
    assert message in str(refused.value)


def test_a_step_has_no_log_scale(write_study):
    with pytest.raises(StudyFileError, match=r"size\.step: given together with `log`"):
        StudyFile.load(write_study(("log = true", "log = true, step = 2")))


def test_studies_of_before_have_the_same_definition(write_study):
    stored = definition(StudyFile.load(write_study()))["parameters"]["share"]
    assert stored == {"type": "float", "low": 0.0, "high": 1.0, "log": False}

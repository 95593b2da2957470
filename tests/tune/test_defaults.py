"""Default values of parameters: measured first, and what the recommendation is compared with."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from support.study_doubles import Scripted, measurement, trials_of
from surefoot.cli import app
from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.measuring.quantity import Quantity
from surefoot.tune.stopping import Stop
from surefoot.tune.study.findings import AgainstDefaults, summarise
from surefoot.tune.study.opened_study import open_study
from surefoot.tune.workers.worker_loop import tune

SIZE = ("log = true }", "log = true, default = 4096 }")
SHARE = ("high = 1 }", "high = 1, default = 0.5 }")
MODE = ('"FULL"] }', '"FULL"], default = "FULL" }')
ALL = (SIZE, SHARE, MODE)
DEFAULTS = {"size": 4096, "share": 0.5, "mode": "FULL"}


class Hill(Scripted):
    """2 share + noise, and 1 more in the mode FULL."""

    def measure(self, params: dict, stop: Stop) -> Measurement | Failure:
        self.asked.append(dict(params))
        noise = 0.05 * np.random.default_rng(len(self.asked)).standard_normal()
        return measurement(2 * params["share"] + (params["mode"] == "FULL") + 3 + noise, 0.1)


@pytest.mark.long
def test_they_are_measured_first_and_once(write_study):
    objective = Scripted()
    path = write_study(*ALL)
    tune(trials_of(path, rounds=3), objective, Stop())
    tune(trials_of(path, rounds=5, run="resumed"), objective, Stop())
    assert objective.asked[0] == DEFAULTS
    assert objective.asked.count(DEFAULTS) == 1


@pytest.mark.long
def test_they_are_measured_again_after_an_interruption_and_not_after_a_failure(write_study):
    path = write_study(*ALL)

    def cut_off() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(trials_of(path), Scripted(before=cut_off), Stop())
    objective = Scripted([Failure("exit status 1", "", 0.1)])
    tune(trials_of(path, rounds=3, run="resumed"), objective, Stop())
    assert objective.asked[0] == DEFAULTS
    assert objective.asked.count(DEFAULTS) == 1


def test_a_study_that_has_trials_measures_them_next(write_study):
    before = Scripted()
    tune(trials_of(write_study(), rounds=2), before, Stop())
    after = Scripted()
    tune(trials_of(write_study(*ALL), rounds=4), after, Stop())
    assert after.asked[0] == DEFAULTS
    assert DEFAULTS not in before.asked


def test_a_trial_that_somebody_has_queued_comes_before(write_study):
    trials = trials_of(write_study(*ALL), rounds=2)
    queued = {"size": 512, "share": 0.25, "mode": "OFF"}
    trials.opened.study.enqueue_trial(queued)
    objective = Scripted()
    tune(trials, objective, Stop())
    assert objective.asked == [queued, DEFAULTS]


@pytest.mark.long
def test_the_recommendation_is_compared_with_them(write_study):
    path = write_study(*ALL)
    tune(trials_of(path, rounds=18), Hill(), Stop())
    opened = open_study(path)
    against = summarise(opened).defaults
    assert against is not None
    assert against.params == DEFAULTS
    assert against.value == pytest.approx(5.0, abs=0.3)
    best = summarise(opened).recommended
    assert best is not None
    true = 2 * best.params["share"] + (best.params["mode"] == "FULL") - 2.0
    assert against.lower <= true <= against.upper < 0.0
    model = opened.state().belief
    mean, lower, upper = model.predict([best.params, DEFAULTS])
    assert against.change == pytest.approx(mean[0] - mean[1])
    # The two vary together, so that the difference is known no worse than the sum says.
    widths = (upper - lower) / 2
    assert (against.upper - against.lower) / 2 <= widths.sum() + 1e-9
    there = model.difference(DEFAULTS, best.params)
    assert there == pytest.approx((-against.change, -against.upper, -against.lower))
    assert model.difference(DEFAULTS, DEFAULTS) == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)


def test_without_defaults_nothing_is_compared(write_study):
    path = write_study()
    tune(trials_of(path, rounds=2), Scripted(), Stop())
    assert summarise(open_study(path)).defaults is None


def test_defaults_that_fail_are_neither_predicted_nor_compared(write_study):
    class Failing(Hill):
        def measure(self, params, stop):
            at_defaults = params == DEFAULTS
            return (
                Failure("exit status 3", "", 0.1) if at_defaults else super().measure(params, stop)
            )

    path = write_study(*ALL)
    tune(trials_of(path, rounds=12), Failing(), Stop())
    output = CliRunner().invoke(app, ["recommend", str(path)]).stdout
    assert "The defaults have failed." in output
    assert "predicts" not in output
    assert "defaults" not in json.loads(
        CliRunner().invoke(app, ["recommend", str(path), "--json"]).stdout
    )
    report = path.with_name("report.md")
    assert CliRunner().invoke(app, ["report", str(path), "-o", str(report)]).exit_code == 0
    assert "| 95 % intervals | recommended |" in report.read_text()
    assert "The defaults have failed." in report.read_text()


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((10.0, -3.0, -4.0, -2.0), "-30 % (-40 to -20 %)"),
        ((-10.0, 3.0, 2.0, 4.0), "a difference of +3 (+2 to +4)"),
        ((0.0, 3.0, 2.0, 4.0), "a difference of +3 (+2 to +4)"),
        ((0.0, 0.0, -2.0, 4.0), "a difference of +0 (-2 to +4)"),
        ((0.001, 3.0, 2.0, 4.0), "a difference of +3 (+2 to +4)"),
    ],
)
def test_in_words(numbers, text):
    assert str(AgainstDefaults({}, *numbers)) == text


@pytest.mark.parametrize(
    ("replacements", "message"),
    [
        ([("log = true }", "log = true, default = 1 }")], "size.default: got 1, expected a whole"),
        ([("log = true }", "log = true, default = 1e3 }")], "size.default: got 1000.0, expected"),
        ([("high = 1 }", "high = 1, default = nan }")], "share.default: got nan, expected a fin"),
        ([('"FULL"] }', '"FULL"], default = "full" }')], "mode.default: got 'full', expected one"),
        ([('"FULL"] }', "1], default = true }")], "mode.default: got True, expected one of the"),
        ([SIZE], "parameters.share.default: missing; other parameters have one"),
        ([SIZE, SHARE], "parameters.mode.default: missing; other parameters have one"),
    ],
)
def test_what_is_wrong_is_refused(write_study, replacements, message):
    path = write_study(*replacements)
    with pytest.raises(StudyFileError, match=message.replace(".", r"\.")):
        StudyFile.load(path)


@pytest.mark.long
def test_the_comparison_with_defaults_says_that_they_break_a_limit(write_study):
    class Limited(Hill):
        def measure(self, params, stop):
            heat = 30.0 if params["mode"] == "FULL" else 10.0
            measured = super().measure(params, stop)
            return replace(measured, readings={**measured.readings, "heat": Quantity(heat)})

    limit = ("[parameters]", "[constraints]\nheat = { max = 20 }\n\n[parameters]")
    path = write_study(*ALL, limit)
    tune(trials_of(path, rounds=12), Limited(), Stop())
    against = summarise(open_study(path)).defaults
    assert against.limits.startswith("The defaults break the limit of heat, at most 20: ")
    output = CliRunner().invoke(app, ["recommend", str(path)]).stdout
    assert against.limits in output
    told = json.loads(CliRunner().invoke(app, ["recommend", str(path), "--json"]).stdout)
    assert told["defaults"]["doubtful"]["heat"]["probability"] < 0.5

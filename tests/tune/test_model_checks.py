"""Warnings: repeats, changes in time, and predictions that contradict the measurements."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from optuna.trial import create_trial
from typer.testing import CliRunner

from support.study_doubles import Scripted, measurement, trials_of
from surefoot.cli import app
from surefoot.integrations.optuna import trial_reader
from surefoot.tune import import_table
from surefoot.tune.estimate_text import Units
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.stopping import Stop
from surefoot.tune.study.findings import summarise
from surefoot.tune.study.model_checks import (
    _IN_TURN,
    _repeats,
    beside_others,
    change_point,
    rank_sum,
)
from surefoot.tune.study.opened_study import open_study
from surefoot.tune.study.trial_attributes import ASKED
from surefoot.tune.workers.worker_loop import tune

DEFAULTS = (
    ("log = true }", "log = true, default = 4096 }"),
    ("high = 1 }", "high = 1, default = 0.5 }"),
    ('"FULL"] }', '"FULL"], default = "FULL" }'),
)
# Nothing is measured again: the change is seen in the residuals of a search.
ONCE = ("[parameters]", "[confirm]\nshare = 0\nevery = 0\n\n[parameters]")


@pytest.fixture(autouse=True)
def steady_clock(monkeypatch):
    """Trials are a second apart, however busy this machine is."""
    monkeypatch.setattr(
        trial_reader,
        "conditions_of",
        lambda trial, effects: (None, float(trial.number) if "drift" in effects else None),
    )


class Server(Scripted):
    """2 share + 20 with little noise and outliers; 30 more after some measurements."""

    slower_from = 10_000

    def measure(self, params: dict, stop: Stop) -> Measurement | Failure:
        self.asked.append(dict(params))
        random = np.random.default_rng([len(self.asked), 3])
        noise = 0.3 * random.standard_normal() + 40 * (random.random() < 0.05)
        slower = 30.0 * (len(self.asked) > self.slower_from)
        return measurement(2 * params["share"] + 20 + noise + slower, 0.1)


def warnings_of(path, objective: Scripted, rounds: int = 30) -> tuple[str, ...]:
    tune(trials_of(path, rounds=rounds), objective, Stop())
    return summarise(open_study(path)).warnings


@pytest.mark.long
def test_a_quiet_study_has_none(write_study):
    assert warnings_of(write_study(*DEFAULTS), Server()) == ()


@pytest.mark.long
def test_a_step_in_time_is_found_where_it_is(write_study):
    without = ("timeout = 30", "timeout = 30\neffects = []")
    path, objective = write_study(*DEFAULTS, ONCE, without), Server()
    objective.slower_from = 15
    found = [text for text in warnings_of(path, objective) if text.startswith("From trial")]
    assert len(found) == 1
    assert "above those before" in found[0]
    assert 12 <= int(found[0].split()[2]) <= 18
    shown = CliRunner().invoke(app, ["recommend", str(path)]).stdout
    assert f"Warning: {found[0]}" in shown
    printed = json.loads(CliRunner().invoke(app, ["recommend", str(path), "--json"]).stdout)
    assert found[0] in printed["warnings"]


@pytest.mark.long
def test_a_step_that_the_drift_explains_is_said_and_not_warned_about(write_study):
    path, objective = write_study(*DEFAULTS, ONCE), Server()
    objective.slower_from = 15
    assert not [text for text in warnings_of(path, objective) if text.startswith("From trial")]
    printed = json.loads(CliRunner().invoke(app, ["recommend", str(path), "--json"]).stdout)
    (line,) = printed["effects"]
    assert line.startswith("The level of the measurements changed during the study: from trial 1")
    assert " % worse than before" in line
    assert printed["lower"] <= 50.0 + 2 * printed["params"]["share"] <= printed["upper"]
    shown = CliRunner().invoke(app, ["recommend", str(path)]).stdout
    assert line in shown
    report = path.with_name("report.html")
    assert CliRunner().invoke(app, ["report", str(path), "-o", str(report)]).exit_code == 0
    assert '<script type="application/json" id="figure-drift">' in report.read_text()


class Unrelated(Scripted):
    """Values that have nothing to do with the configuration."""

    def measure(self, params: dict, stop: Stop) -> Measurement | Failure:
        self.asked.append(dict(params))
        random = np.random.default_rng([len(self.asked), 8])
        return measurement(20.0 + float(random.uniform(-1.0, 1.0)), 0.1)


@pytest.mark.long
def test_a_model_that_does_not_predict_is_said_and_not_relied_on(write_study):
    path = write_study(ONCE)
    found = warnings_of(path, Unrelated(), rounds=36)
    assert [text for text in found if text.startswith("The model predicts measurements that")]
    opened = open_study(path)
    measured: dict[str, list[float]] = {}
    for trial in opened.state().trials:
        measured.setdefault(json.dumps(trial.params), []).append(trial.value)
    best = min(measured, key=lambda params: float(np.mean(measured[params])))
    assert summarise(opened).recommended.params == json.loads(best)


def import_rows(path, size, share, value):
    rows = np.stack([size.astype(int).astype(object), share, value]).T.tolist()
    table = path.with_name("runs.csv")
    table.write_text("\n".join(["size,share,value", *(",".join(map(str, row)) for row in rows)]))
    return import_table(path, table).trials


@pytest.mark.long
@pytest.mark.parametrize("together", [True, False], ids=["together", "apart"])
def test_outliers_that_are_neighbours_are_an_optimum(write_study, together):
    path = write_study(("mode =", "# mode ="), ("{mode}", ""), ("low = 512", "low = 1"))
    random, number = np.random.default_rng(4), 205  # of which a fit is due
    share, size = random.random(number), np.exp(np.log(65536.0) * random.random(number)).round()
    value = 20.0 + 0.3 * np.sin(4.0 * share) + 0.1 * random.standard_normal(number)
    place = np.hypot(share - 0.6, np.log(size) / np.log(65536.0) - 0.5)
    dip = 6.0 * np.exp(-0.5 * (place / 0.06) ** 2)
    value -= dip if together else random.permutation(dip)
    import_rows(path, size, share, value)
    found = summarise(open_study(path))
    best = found.recommended
    offset = np.hypot(best.params["share"] - 0.6, np.log(best.params["size"]) / np.log(65536) - 0.5)
    assert (offset < 0.06) == together
    expected = 20.0 + 0.3 * np.sin(4.0 * best.params["share"])
    expected -= 6.0 * np.exp(-0.5 * (offset / 0.06) ** 2) * together
    assert best.lower <= expected <= best.upper
    assert found.warnings == ()


@pytest.mark.long
def test_measurements_that_are_better_than_predicted_about_the_best_are_named(write_study):
    path = write_study(("mode =", "# mode ="), ("{mode}", ""), ("low = 512", "low = 1"))
    random, number = np.random.default_rng(0), 205  # of which a fit is due
    share, other = random.random(number), random.random(number)
    size = np.exp(np.log(65536.0) * other).round()
    tip = np.hypot(share - 0.6, other - 0.5)  # a cone, which the model makes blunt
    value = 20.0 * (1.0 - np.exp(-25.0 * tip)) + 0.1 * random.standard_normal(number)
    assert import_rows(path, size, share, value) == number
    found = summarise(open_study(path))
    (warning,) = found.warnings
    assert warning.startswith("Measurements near the recommended configuration are better than")
    best = found.recommended.params
    offset = np.hypot(best["share"] - 0.6, np.log(best["size"]) / np.log(65536.0) - 0.5)
    assert 20.0 * (1.0 - np.exp(-25.0 * offset)) < found.recommended.lower  # it is right


@pytest.mark.parametrize(("dof", "is_said"), [(2.0, False), (20.0, True)])
def test_medians_of_repeats_have_the_tails_of_their_noise(dof, is_said):
    """At 4.5 standard errors: of three values of t(2) one median in a hundred is beyond."""
    measured = [SimpleNamespace(number=number, params={"x": 0.5}) for number in range(3)]
    predicted = tuple(np.zeros((3, 1)))
    model = SimpleNamespace(
        of_estimand=lambda name: SimpleNamespace(predict=lambda settings: predicted),
        fitted=SimpleNamespace(
            noise_scale=1.0,
            adjusted=np.full(3, 4.5 * (np.pi / 2.0) ** 0.5 / 3.0**0.5),
            on_model_scale=np.asarray,
        ),
        belief=SimpleNamespace(outcome=SimpleNamespace(fitted=SimpleNamespace(dof=dof))),
    )
    state = SimpleNamespace(
        study_file=SimpleNamespace(defaults=None, units=Units()),
        belief=model,
        measured=measured,
        recommendation=SimpleNamespace(params={"x": 0.1}),
    )
    assert ("was measured 3 times" in _repeats(state)) is is_said


def test_the_change_point_test_keeps_its_level():
    found = 0
    for seed in range(300):
        found += change_point(np.random.default_rng(seed).standard_cauchy(40))[1] <= 0.05
    assert found <= 0.05 * 300


@pytest.mark.parametrize("number", [0, 1, 11])
def test_a_few_values_have_no_change_point(number):
    assert change_point(np.arange(float(number))) == (0, 1.0)


def test_the_change_point_is_found():
    values = np.random.default_rng(0).standard_normal(40)
    values[25:] += 3.0
    split, probability = change_point(values)
    assert 23 <= split <= 27
    assert probability < 0.001


BEGIN = datetime(2026, 3, 1)


def ran(begin: float, end: float | None, **attributes: bool):
    one = create_trial(value=1.0, user_attrs=attributes)
    one.datetime_start = BEGIN + timedelta(seconds=begin)
    one.datetime_complete = None if end is None else BEGIN + timedelta(seconds=end)
    return one


@pytest.mark.parametrize(
    ("trials", "expected"),
    [
        ([], []),
        ([ran(0, 10)], [False]),
        ([ran(0, 10), ran(10, 20), ran(20, 30)], [False] * 3),
        ([ran(0, 10), ran(4, 14), ran(20, 30)], [True, True, False]),
        ([ran(40, 50), ran(0, 30), ran(2, 4), ran(20, 25)], [False, True, True, True]),
        ([ran(0, None), ran(5, 8)], [False, False]),  # it is not known when the first one ended
        ([ran(0, 900, **{ASKED: True}), ran(5, 8)], [False, False]),  # it may have waited
    ],
)
def test_trials_run_beside_others_where_their_times_overlap(trials, expected):
    assert beside_others(trials).tolist() == expected


def test_the_rank_sum_test_keeps_its_level_and_finds_a_difference():
    random = np.random.default_rng(0)
    pairs = [np.abs(random.standard_cauchy((2, 20))) for _ in range(400)]
    assert 5 < sum(rank_sum(*pair) < 0.05 for pair in pairs) < 35
    assert rank_sum(4.0 * pairs[0][0], pairs[0][1]) < 0.01 < rank_sum(*pairs[0])
    assert rank_sum(np.ones(5), np.ones(6)) == 0.5
    in_turn = np.abs(np.diff(random.standard_normal((400, 2, 20))))
    assert 5 < sum(rank_sum(*pair, _IN_TURN) < 0.05 for pair in in_turn) < 35


@pytest.mark.daily(1)
@pytest.mark.parametrize("times", [6.0, 1.0])
@pytest.mark.parametrize("late", [True, False], ids=["later", "first"])
def test_workers_that_disturb_each_other_are_said(write_study, times, late):
    path = write_study(("mode =", "# mode ="), ("{mode}", ""), ("low = 512", "low = 1"))
    random, rows = np.random.default_rng(4), ["size,share,value,start,seconds"]
    for number in range(50):
        beside = (number >= 25) == late
        size, share = random.integers(1, 65536), random.random().__round__(3)
        if number % 25 >= 6:  # measured again, as the best are
            size, share = (300, 0.5) if number % 3 else (40, 0.7)
        value = 20.0 + (share - 0.5) ** 2 + 0.2 * random.standard_normal() * times**beside
        begin = BEGIN + timedelta(seconds=10.0 * number)
        rows.append(f"{size},{share},{value},{begin.isoformat()},{12.0 if beside else 9.0}")
    table = path.with_name("runs.csv")
    table.write_text("\n".join(rows))
    import_table(path, table)
    found = [one for one in summarise(open_study(path)).warnings if "disturb each other" in one]
    assert len(found) == (times > 1.0)
    if found:
        first = int(found[0].split("from trial ")[1].split()[0])
        assert first in ((24, 25) if late else (0, 1))
        assert "one worker" in found[0]


@pytest.mark.long
@pytest.mark.parametrize("seconds", [12.0, 9.0])
def test_what_cannot_be_predicted_names_measurements_beside_others(write_study, seconds):
    path, random = write_study(("mode =", "# mode ="), ("{mode}", "")), np.random.default_rng(8)
    rows = ["size,share,value,start,seconds"]
    for number in range(36):
        begin = (BEGIN + timedelta(seconds=10.0 * number)).isoformat()
        rows.append(f"{600 + 900 * number},{random.random()},{random.random()},{begin},{seconds}")
    table = path.with_name("runs.csv")
    table.write_text("\n".join(rows))
    import_table(path, table)
    (found,) = (one for one in summarise(open_study(path)).warnings if "no better than ch" in one)
    assert ("36 measurements ran beside others" in found) == (seconds > 10.0)

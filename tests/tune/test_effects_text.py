"""What is said of worker and time, and the worker that an objective names."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import FloatDistribution
from optuna.trial import create_trial

from support.study_doubles import Scripted, all_of, measurement, trials_of
from surefoot.integrations.optuna import TIME, WORKER, StudyDrift
from surefoot.tune import import_table
from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.display import Progress
from surefoot.tune.estimate_text import Units
from surefoot.tune.measuring.command_objective import CommandObjective
from surefoot.tune.measuring.function_server import _call
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.measuring.printed_value import split_worker
from surefoot.tune.observer import Observer
from surefoot.tune.stopping import Stop
from surefoot.tune.study.effects_text import (
    _began_beside,
    drift_line,
    effect_lines,
    largest_change,
)
from surefoot.tune.study.opened_study import open_study
from surefoot.tune.workers.worker_loop import tune


def test_the_largest_change_is_found():
    values = np.array([10.0] * 7 + [13.0] * 5)
    assert largest_change(values) == (7, 10.0, 13.0)


@pytest.mark.parametrize(("minimize", "word"), [(True, "worse"), (False, "better")])
def test_the_drift_in_words(minimize, word):
    mean = np.array([10.0] * 7 + [13.0] * 5)
    line = drift_line(StudyDrift(list(range(3, 15)), mean, mean, mean), minimize, Units("ms"))
    assert f"from trial 10 on, the same configuration is 30 % {word} than before" in line
    assert "between 10 and 13 ms;" in line
    tiny = drift_line(StudyDrift(list(range(3, 15)), *[mean + 1e6] * 3), minimize, Units("ms"))
    assert f"the same configuration is 3 ms {word} than before" in tiny  # not 0 %


@pytest.mark.parametrize(
    ("overlapping", "told"),
    [(range(6, 12), True), (range(12), False), (range(6), False), (range(0), False)],
    ids=["since", "always", "before", "never"],
)
def test_the_remedy_is_said_where_workers_began_at_the_change(overlapping, told):
    mean = np.array([10.0] * 6 + [13.0] * 6)
    drift = StudyDrift(list(range(12)), mean, mean, mean)
    trials = []
    for number in range(12):
        begun = datetime(2026, 3, 1, 13, 5 * number)
        minutes = 6 if number in overlapping else 4  # of which the next one begins after 5
        distributions = {"x": FloatDistribution(0.0, 1.0)}
        one = create_trial(params={"x": 0.5}, distributions=distributions, value=mean[number])
        one.number, one.datetime_start = number, begun
        one.datetime_complete = begun + timedelta(minutes=minutes)
        trials.append(one)
    said = _began_beside(drift, trials)
    assert ("measure with one worker" in said) is told


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(12)), st.booleans())
def test_a_change_is_named_by_what_divides_the_trials(order, has_clock):
    mean = np.array([10.0] * 7 + [13.0] * 5)
    minutes = {number: at for at, number in enumerate(order)}
    begun = {n: datetime(2026, 3, 1, 13, at) if has_clock else None for n, at in minutes.items()}
    line = drift_line(StudyDrift(list(order), mean, mean, mean), True, Units("ms"), begun)
    named = re.search(r"from (?:trial (\d+)|the time of trial (\d+)|\S+ 13:(\d\d):00) on,", line)
    trial, of, minute = named.groups()
    assert (minute is None) or has_clock
    if trial is not None:
        later = {number for number in order if number >= int(trial)}
    else:
        at = int(minute) if of is None else minutes[int(of)]
        later = {number for number in order if minutes[number] >= at}
    assert later == set(order[7:])


def test_a_change_of_imported_rows_is_named_by_their_time(write_study):
    path = write_study()
    rows = [(i, 1.0 + (i >= 12) + 0.01 * (i % 3)) for i in range(24)]
    shuffled = [rows[i] for i in np.random.default_rng(0).permutation(24)]
    text = "".join(f"512,0.5,OFF,{y},2026-03-01 {9 + i // 4:02}:{i % 4}0\n" for i, y in shuffled)
    (path.parent / "runs.csv").write_text(f"size,share,mode,value,time\n{text}")
    import_table(path, path.parent / "runs.csv")
    (line,) = [one for one in effect_lines(open_study(path).state()) if "The level" in one]
    assert "from 2026-03-01 12:00:00 on" in line


@pytest.mark.parametrize(
    ("text", "worker", "left"),
    [
        ("worker=3\n12.5", "3", "\n12.5"),
        ("12.5\n worker = rack 2 ", "rack 2 ", "12.5\n"),
        ("worker=a\n1\nworker=b", "b", "\n1\n"),
        ("worker=\n1", "", "\n1"),
        ("my-worker=3 is 1", None, "my-worker=3 is 1"),
        ("workers=3", None, "workers=3"),
    ],
)
def test_a_printed_worker(text, worker, left):
    assert split_worker(text) == (worker, left)


def measured(tmp_path, line: str, **options) -> Measurement | Failure:
    template = CommandTemplate.parse(f"printf {line}")
    return CommandObjective(template, tmp_path, 30.0, **options).measure({}, Stop())


def test_a_command_names_its_worker(tmp_path):
    result = measured(tmp_path, "'worker=7\\n12.5\\n'")
    assert isinstance(result, Measurement)
    assert (result.value, result.worker) == (12.5, "7")
    result = measured(tmp_path, "'12.5\\nworker=7\\n'")
    assert (result.value, result.worker) == (12.5, "7")


def test_a_worker_without_a_name_is_no_fault_of_the_configuration(tmp_path):
    result = measured(tmp_path, "'worker=\\n12.5\\n'")
    assert isinstance(result, Failure)
    assert result.blameless
    assert result.reason == "the worker has no name, expected `worker=NAME`"


def test_a_constraint_may_be_called_worker(tmp_path):
    result = measured(tmp_path, "'worker=7\\n12.5\\n'", constraints={"worker": None})
    assert (result.worker, result.values) == ("", {"worker": 7.0})


@pytest.mark.parametrize(
    ("returned", "reported", "reply"),
    [
        ((1.5, {"worker": 3}), "", {"value": 1.5, "worker": "3"}),
        (
            (1.5, {"worker": "a", "p99": 2}),
            "p99",
            {"value": 1.5, "reported": {"p99": 2.0}, "worker": "a"},
        ),
        (1.5, "", {"value": 1.5}),
        ((1.5, {"worker": 4}), "worker", {"value": 1.5, "reported": {"worker": 4.0}}),
    ],
)
def test_a_function_names_its_worker(returned, reported, reply):
    assert _call(lambda: returned, {}, reported) == reply


@pytest.mark.long
def test_the_worker_of_a_trial_is_recorded(write_study):
    path = write_study()
    trials = trials_of(path)
    trial = trials.begin_next()
    trials.record(trial, measurement(1.0, 0.1, worker="rack 2"))
    assert all_of(trials)[0].user_attrs[WORKER] == "rack 2"


def test_imported_rows_without_a_time_have_none(write_study, tmp_path):
    table = tmp_path / "runs.csv"
    table.write_text(
        "size,share,mode,value,worker,time\n512,0.5,OFF,1.0,a,2026-03-01 14:30:00\n"
        "512,0.6,OFF,1.0,,\n",
        encoding="utf-8",
    )
    path = write_study()
    import_table(path, table)
    first, second = (trial.user_attrs for trial in open_study(path).study.trials)
    assert first[WORKER] == "a"
    assert TIME not in first
    assert second[TIME] is None
    assert WORKER not in second


def test_effects_of_a_study_file_are_names(write_study):
    path = write_study(("timeout = 30", "timeout = 30\neffects = ['clock']"))
    with pytest.raises(StudyFileError, match=r"objective.effects.*expected a list of 'worker'"):
        StudyFile.load(path)


def test_a_run_says_what_changed_and_what_contradicts_the_model(write_study, monkeypatch):
    sentences = {
        "study.findings.effect_lines": "The level of the measurements changed.",
        "display.contradictions": "The default configuration was measured 3 times.",
    }
    for name, text in sentences.items():
        monkeypatch.setattr(f"surefoot.tune.{name}", lambda *_, text=text, **__: (text,))
    trials = trials_of(write_study(), rounds=2)
    stop = Stop()
    progress = Progress(trials, stop)
    tune(trials, Scripted(before=stop.request), stop)
    progress.update()
    assert (progress.state.finished, progress.seconds_left) == (1, None)  # it is about to end
    level, default = sentences.values()
    assert progress.notes() == [level, f"warning: {default}"]


def test_a_run_takes_back_an_effect_that_further_measurements_do_not_show(write_study, monkeypatch):
    level, workers = "The level changed: by 2 %.", "Workers differ: by 1 %."
    shown = iter([(level,), (level,), (level, workers), (workers,), (), (level,)])
    monkeypatch.setattr("surefoot.tune.study.findings.effect_lines", lambda *_: next(shown))
    monkeypatch.setattr("surefoot.tune.display.contradictions", lambda *_, **__: ())
    trials, said = trials_of(write_study(), rounds=6), []
    progress = Progress(trials, Stop())

    def look() -> None:
        progress.update()
        said.append(progress.notes())

    tune(trials, Scripted(), Stop(), observer=Observer(finished=look))
    gone = ["No longer so: The level changed.", "No longer so: Workers differ."]
    assert [one for one in said if one] == [[level], [workers], gone[:1], gone[1:], [level]]

"""A time that a study may take: what counts, what is left, and how a run ends with it."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta

import numpy as np
import pytest
from optuna.trial import TrialState, create_trial

from support.study_doubles import Scripted, all_of, trials_of
from surefoot.integrations.optuna import INTERRUPTED
from surefoot.tune import StudyFile, StudyFileError
from surefoot.tune.observer import Observer
from surefoot.tune.stopping import Stop
from surefoot.tune.study import trials as trials_module
from surefoot.tune.study.confirm_stage import CONFIRM
from surefoot.tune.study.early_stop import latest_run, seconds_spent, seconds_to_end
from surefoot.tune.study.schedule import Schedule
from surefoot.tune.study.trial_attributes import OWNER, SECONDS
from surefoot.tune.study.trial_owner import this_process
from surefoot.tune.study.trials import StudyTrials
from surefoot.tune.workers.worker_loop import tune

START = datetime(2026, 1, 1)


def trial(run: str | None, began: float, ended: float | None, **attributes: bool):
    state = TrialState.RUNNING if ended is None else TrialState.COMPLETE
    state = TrialState.FAIL if attributes else state
    owner = {} if run is None else {OWNER: {**this_process(run), "began": began}}
    lasted = {} if ended is None else {SECONDS: max(ended - began, 0.0)}
    one = create_trial(
        state=state,
        value=1.0 if state == TrialState.COMPLETE else None,
        user_attrs={**owner, **lasted, **attributes},
    )
    one.datetime_start = START + timedelta(seconds=began)
    one.datetime_complete = None if ended is None else START + timedelta(seconds=ended)
    return one


@pytest.mark.parametrize(
    ("trials", "seconds"),
    [
        ([], 0.0),
        ([trial("now", 90, None)], 10.0),  # until now
        ([trial("a", 0, 10), trial("a", 5, 30)], 30.0),  # at the same time, counted once
        ([trial("a", 0, 10), trial("b", 50, 60)], 20.0),  # without the pause
        ([trial("a", 0, 10), trial("now", 50, 60)], 60.0),
        ([trial(None, 0, 10)], 0.0),  # of another program
        ([trial("a", 0, 10), trial("a", 10, 90, **{INTERRUPTED: True})], 10.0),  # found later
        ([trial("a", 20, 10)], 0.0),  # the clock was set back
    ],
)
def test_the_time_of_each_run_counts_without_the_pauses(trials, seconds):
    for one in trials:  # whatever the local time does, which Optuna records
        one.datetime_complete = one.datetime_start = START
    assert seconds_spent(trials, "now", 100.0) == seconds


def test_a_clock_that_is_set_takes_no_time_from_the_budget(write_study, monkeypatch):
    trials = trials_of(write_study(("rounds = 8", 'rounds = 8\nbudget = "1h"')))
    tune(trials, Scripted(), Stop())
    spent = 3600.0 - trials.seconds_left(trials.opened.state())
    monkeypatch.setattr("time.time", lambda now=time.time: now() + 7300.0)
    assert 0.0 < spent <= 3600.0 - trials.seconds_left(trials.opened.state()) < 1800.0


@pytest.mark.parametrize(
    ("trials", "run", "seconds"),
    [
        ([trial("a", 0, 10), trial("a", 10, 40)], "a", 2 * 30.0 - 60.0 + 20.0),
        ([trial("a", 0, 10), trial("a", 10, 40)], "b", np.nan),  # of an earlier run
        ([trial("a", 0, 10), trial("b", 70, 80), trial("b", 80, 90)], "b", 10.0),
        ([trial("a", 0, 80), trial("b", 70, 90)], "b", np.nan),
        ([trial(None, 0, 40), trial("a", 0, 50), trial(None, 0, 80)], "", 60.0),
        ([trial("a", 0, 10), trial("a", 10, 20)], "a", np.nan),  # it would have ended long ago
        ([trial("a", 0, 70), trial("a", 0, 75, **{INTERRUPTED: True})], "a", np.nan),
    ],
)
def test_the_time_to_the_end_is_of_the_run_that_goes_on(trials, run, seconds):
    now = START + timedelta(seconds=100 if run != "a" else 80)
    assert seconds_to_end(trials, run, 2, now) == pytest.approx(seconds, nan_ok=True)


def test_the_latest_run_has_begun_the_latest_trial():
    assert latest_run([]) == ""
    assert latest_run([trial("a", 0, 10), trial("b", 20, None), trial("a", 5, 30)]) == "b"
    assert latest_run([trial("a", 0, 10), trial(None, 20, 30)]) == ""


@pytest.mark.parametrize(
    ("budget", "seconds"),
    [
        ("2h", 7200.0),
        ("90min", 5400.0),
        ("1.5 h", 5400.0),
        ("45s", 45.0),
        ("1d", 86400.0),
        ("1h30min", 5400.0),
        ("1d 2 h", 93600.0),
    ],
)
def test_times_are_read(write_study, budget, seconds):
    study = StudyFile.load(write_study(("rounds", f"budget = '{budget}'\nrounds"))).study
    assert study.seconds == seconds


@pytest.mark.parametrize(
    ("text", "seconds"), [("30", 30), ("30.5", 30.5), ("'30s'", 30), ("'1h 30min'", 5400)]
)
def test_a_time_and_a_number_of_seconds_are_read_wherever_one_is(write_study, text, seconds):
    path = write_study(
        ("rounds", f"budget = {text}\nrounds"), ("timeout = 30", f"timeout = {text}")
    )
    study_file = StudyFile.load(path)
    assert (study_file.study.seconds, study_file.objective.timeout) == (seconds, seconds)


@pytest.mark.parametrize(
    "budget", ["'2'", "'h'", "'0h'", "'-1h'", "'2 weeks'", "0", "-7200", "true", "inf", "'nanh'"]
)
def test_what_is_no_time_is_refused(write_study, budget):
    with pytest.raises(StudyFileError, match=r"study\.budget: got .* a time such as '2h'"):
        StudyFile.load(write_study(("rounds", f"budget = {budget}\nrounds")))


def test_a_run_ends_with_its_time_and_so_does_the_run_that_resumes_it(write_study, monkeypatch):
    spent = [0.0]
    monkeypatch.setattr(trials_module, "seconds_spent", lambda *arguments: spent[0])
    path = write_study(("rounds", "budget = '1min'\nrounds"))
    for run, more in (("first", 3), ("second", 0)):
        trials, objective = trials_of(path, rounds=8, run=run), Scripted()

        def finished() -> None:
            spent[0] += 25.0

        tune(trials, objective, Stop(), Observer(finished=finished))
        assert len(objective.asked) == more
        spent[0] = 59.0  # the time from its last measurement to its end does not count
        state = trials.opened.state()
        assert trials.is_complete()
        assert (trials.target(state), trials.seconds_left(state)) == (3, 0.0)
        assert trials.planned(state) == 8
    for budget, more in (("30s", 0), ("1min", 0), ("2min", 3)):  # less, the same, more
        path.write_text(re.sub(r"budget = '\w+'", f"budget = '{budget}'", path.read_text()))
        trials, objective = trials_of(path, rounds=8, run=budget), Scripted()
        tune(trials, objective, Stop(), Observer(finished=finished))
        assert len(objective.asked) == more
        spent[0] = 59.0


def test_a_time_takes_the_place_of_rounds(write_study):
    assert StudyFile.load(write_study(("rounds = 8", "budget = '1h'"))).study.rounds == 1000
    assert (
        StudyFile.load(write_study(("rounds = 8", "rounds = 8\nbudget = '1h'"))).study.rounds == 8
    )
    with pytest.raises(
        StudyFileError, match=r"study\.rounds: missing; .*\(or a time as `budget`\)"
    ):
        StudyFile.load(write_study(("rounds = 8", "")))


@pytest.mark.long
@pytest.mark.parametrize(
    ("share", "searched", "confirmed"), [(0.15, 17, 3), (0.5, 10, 10), (0, 20, 0)]
)
def test_the_last_share_of_a_time_is_for_the_confirm_stage(
    write_study, monkeypatch, share, searched, confirmed
):
    spent = [0.0]
    monkeypatch.setattr(trials_module, "seconds_spent", lambda *arguments: spent[0])
    confirm = f"[confirm]\nshare = {share}\nevery = 0\n\n[parameters]"
    path = write_study(("rounds = 8", "budget = '100s'"), ("[parameters]", confirm))

    def finished() -> None:
        spent[0] += 5.0

    def run(name: str) -> tuple[list[bool], StudyTrials]:
        trials = trials_of(path, StudyFile.load(path).study.rounds, name)
        tune(trials, Scripted(), Stop(), Observer(finished=finished))
        return [CONFIRM in trial.user_attrs for trial in all_of(trials)], trials

    stages, trials = run("first")
    assert stages == [False] * searched + [True] * confirmed
    end = Schedule(trials.opened.state(), trials.rounds).end
    words = f"The search ended after {searched} rounds: what is left of the 100s is for"
    assert (str(end).startswith(words) if confirmed else end is None) is True
    assert run("again")[0] == stages  # what is over stays so
    if confirmed != 3:
        return
    path.write_text(path.read_text().replace("'100s'", "'200s'"))
    stages, trials = run("more")
    assert not stages[20]  # the search goes on
    assert sum(stages[20:]) >= confirmed  # and ends anew
    assert trials.is_complete()

"""A search that ends when little is left to gain."""

from __future__ import annotations

import re

import numpy as np
import pytest

from support.commands import surefoot
from support.study_doubles import Scripted, measurement, target_of, trials_of
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.stopping import Stop
from surefoot.tune.study import early_stop
from surefoot.tune.study.confirm_stage import CONFIRM, confirm_runs
from surefoot.tune.study.early_stop import stored_stop
from surefoot.tune.study.opened_study import open_study
from surefoot.tune.study.schedule import without_effect
from surefoot.tune.workers.worker_loop import tune

STOP = ("[parameters]", "[stop]\ngain = 0.05\n\n[confirm]\nevery = 0\n\n[parameters]")


@pytest.fixture
def probability(monkeypatch) -> list[float]:
    """What the model says is the probability, one check after the other; the last one lasts."""
    given = [1.0]
    monkeypatch.setattr(
        early_stop,
        "probability_left",
        lambda *arguments: given.pop(0) if len(given) > 1 else given[0],
    )
    monkeypatch.setattr(early_stop, "LEAST_ROUNDS", 3)
    monkeypatch.setattr(early_stop, "ROUNDS_PER_PARAMETER", 1)
    return given


def test_the_first_check_waits_for_ten_rounds_a_parameter():
    assert [early_stop.first_check(number) for number in (1, 2, 5)] == [15, 20, 50]


@pytest.mark.daily(1)
@pytest.mark.parametrize("share", [0.0, 0.15, 0.5])
def test_a_search_that_ends_before_it_can_be_stopped_is_said(write_study, share):
    replaced = (STOP[0], STOP[1].replace("every = 0", f"every = 0\nshare = {share}"))
    study_file = StudyFile.load(write_study(replaced))
    earliest = 30 + early_stop.EVERY  # of three parameters
    for rounds in range(1, 90):
        said = without_effect(study_file, rounds)
        ends = rounds - confirm_runs(study_file, rounds) > earliest
        assert (said == "") is ends
        if said:
            wanted = int(re.search(r"expected at least (\d+) rounds", said)[1])
            assert f"[stop] cannot end a search of {rounds} rounds" in said
            assert not without_effect(study_file, wanted)
            assert without_effect(study_file, wanted - 1)
    assert not without_effect(StudyFile.load(write_study()), 3)


@pytest.mark.long
def test_the_first_round_at_which_it_can_end_is_the_one_that_is_said(write_study, probability):
    probability[:] = [0.01]
    path = write_study((STOP[0], STOP[1].replace("every = 0", "every = 0\nshare = 0")))
    earliest = early_stop.earliest_stop(3)
    for rounds, asked in ((earliest, earliest), (earliest + 1, earliest)):
        path.with_name("hill.db").unlink(missing_ok=True)
        tune(trials_of(path, rounds=rounds), objective := Scripted(), Stop())
        assert len(objective.asked) == asked
        stopped = stored_stop(open_study(path).state(), rounds)
        earlier = stopped is not None and stopped.target < rounds
        assert earlier is not bool(without_effect(StudyFile.load(path), rounds))


@pytest.mark.long
@pytest.mark.parametrize("command", ["check", "tune"])
def test_a_run_and_a_check_say_that_it_comes_too_late(write_study, command):
    said = surefoot(command, write_study(STOP))
    assert "warning: [stop] cannot end a search of 8 rounds" in " ".join(said.split())


@pytest.mark.long
def test_the_search_ends_and_what_it_found_is_confirmed(write_study, probability):
    probability[:] = [0.5, 0.01, 0.2, 0.01, 0.01]
    trials = trials_of(write_study(STOP), rounds=60)
    objective = Scripted()
    tune(trials, objective, Stop())
    assert len(objective.asked) == 15 + 3  # checks at 3, 6, ..., 15 rounds, and a confirm stage
    state = open_study(trials.study_file.path).state()
    stop = stored_stop(state, 60)
    assert stop is not None
    assert (stop.begun, stop.target, target_of(trials)) == (15, 18, 18)
    wanted = "after 15 rounds: the probability that more than 5 % is left to gain is 0.01"
    assert wanted in str(stop)
    assert sum(CONFIRM in trial.user_attrs for trial in state.trials) == 3


@pytest.mark.long
def test_it_stays_ended_and_goes_on_for_more_rounds(write_study, probability):
    probability[:] = [0.01]
    path = write_study(STOP)
    tune(trials_of(path, rounds=20), Scripted(), Stop())
    again = Scripted()
    tune(trials_of(path, rounds=20, run="again"), again, Stop())
    assert again.asked == []
    probability[:] = [0.9]
    tune(trials_of(path, rounds=24, run="more"), again, Stop())
    assert len(again.asked) == 24 - 9


def test_a_run_with_nothing_left_says_why(write_study, probability):
    probability[:] = [0.0]
    path = write_study(STOP)
    tune(trials_of(path, rounds=45), Scripted(), Stop())
    said = " ".join(surefoot("tune", path, "--rounds", 45).split())
    assert "The search ended after 6 rounds: the probability that more than 5 %" in said
    assert "is left to gain is below 0.001." in said


@pytest.mark.long
@pytest.mark.parametrize("rounds", [40, 30, 12, 8, 3])
def test_it_stays_ended_for_fewer_rounds(write_study, probability, rounds):
    probability[:] = [0.01]
    path = write_study(STOP)
    tune(trials_of(path, rounds=45), Scripted(), Stop())
    probability[:] = [0.9]
    again = Scripted()
    trials = trials_of(path, rounds=rounds, run="again")
    tune(trials, again, Stop())
    assert again.asked == []
    assert target_of(trials) == min(rounds, 9)


def test_a_confirm_stage_goes_on_for_fewer_rounds(write_study, probability):
    probability[:] = [0.01]
    path, objective = write_study(STOP), Scripted()
    stop = Stop()
    objective.before = lambda: stop.request() if len(objective.asked) == 6 else None
    tune(trials_of(path, rounds=45), objective, stop)
    assert len(objective.asked) == 7
    for rounds in (8, 40):
        tune(trials_of(path, rounds=rounds, run=f"to {rounds}"), objective, Stop())
        assert len(objective.asked) == min(rounds, 9)
    study = open_study(path).study
    assert [trial.user_attrs.get(CONFIRM) for trial in study.trials[6:]] == [9] * 3


@pytest.mark.long
def test_another_gain_is_another_decision(write_study, probability):
    probability[:] = [0.01]
    path = write_study(STOP)
    tune(trials_of(path, rounds=40), Scripted(), Stop())
    path.write_text(path.read_text().replace("gain = 0.05", "gain = 0.001"))
    probability[:] = [0.9]
    assert target_of(trials_of(path, rounds=40)) == 40


class Bowl(Scripted):
    """A flat valley, with outliers."""

    def measure(self, params: dict, stop: Stop) -> Measurement | Failure:
        self.asked.append(dict(params))
        random = np.random.default_rng([len(self.asked), 5])
        outlier = 300.0 * (random.random() < 0.1)
        value = 100 + 40 * (params["share"] - 0.3) ** 2 + 0.2 * random.standard_normal()
        return measurement(value + outlier, 0.1)


@pytest.mark.long
def test_a_valley_is_found_flat_in_spite_of_outliers(write_study):
    path = write_study(STOP)
    objective = Bowl()
    trials = trials_of(path, rounds=60)
    tune(trials, objective, Stop())
    assert target_of(trials) < 56

"""A wrong measurement that is discarded: it stays in the history, and nothing else follows."""

from __future__ import annotations

import json
import pickle

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import create_trial

from support.commands import surefoot
from support.study_doubles import Scripted, trials_of
from surefoot.integrations.optuna import SurefootSampler, belief
from surefoot.integrations.optuna.endings import discard
from surefoot.tune import StudyFile, open_study
from surefoot.tune.ask_tell.ask_tell import AskTell, open_ask_tell
from surefoot.tune.ask_tell.verbs import Verbs
from surefoot.tune.stopping import Stop
from surefoot.tune.study.opened_study import create_study
from surefoot.tune.study.study_import import import_study
from surefoot.tune.workers.worker_loop import tune
from surefoot.types import InvalidInput

WRONG = 0.25  # of a dead server


@pytest.fixture(params=["sqlite:///hill.db", "journal:///hill.log"])
def told(request, write_study) -> AskTell:
    """A study of six measurements, the first of which is wrong."""
    path = write_study(("rounds = 8", f'rounds = 8\nstorage = "{request.param}"'))
    study = open_ask_tell(path)
    for one in study.ask(6):
        study.tell(one.id, 10.0 + one.id if one.id else WRONG)
    return study


@pytest.mark.long
def test_nothing_follows_from_a_discarded_measurement(told):
    path, before = told.study_file.path, told.opened.state()
    assert (before.measured[0].number, before.finished) == (0, 6)
    said = surefoot("forget", path, 0, "--measured", "the server was dead")
    assert said.startswith("forgotten: 0 size=")
    for opened in (told.opened, open_study(path)):  # as this process knows it, and a new one
        state = opened.state()
        assert state.finished == 5
        assert state.measured[0].number == 1
        assert state.recommendation.value > 5.0
    alone = create_study(StudyFile.load(path)).study
    alone.sampler = SurefootSampler(seed=0)
    known = belief(alone, SurefootSampler(seed=0)).objectives  # also without a study file
    assert next(iter(known.values())).assess([state.trials[0].params])[0].value > 5.0


@pytest.mark.long
def test_it_stays_in_the_storage_and_its_reason_in_the_history(told, tmp_path):
    path, study = told.study_file.path, told.opened.study
    told.forget([0], "the server was dead")
    assert study.get_trials(deepcopy=False)[0].value == WRONG
    reason = "trial 0 had the value 0.25, discarded: the server was dead"
    assert told.opened.state().trials[0].user_attrs["failure"] == reason
    surefoot("export", path, "-o", tmp_path / "t.csv")
    assert reason in (tmp_path / "t.csv").read_text()
    surefoot("report", path, "-o", tmp_path / "r.html")
    assert reason in (tmp_path / "r.html").read_text()


@pytest.mark.long
def test_another_outcome_may_be_told_and_is_discarded_in_its_turn(told):
    told.forget([0], "dead")
    told.forget([0], "dead")  # again, as after an interruption
    assert told.status().finished == 5
    assert told.tell(0, 12.0).value == 12.0
    assert told.status().finished == 6
    told.forget([0], "dead again")
    assert told.status().finished == 5
    assert told.tell(0, failed="no answer").failure == "no answer"
    told.forget([0], "it was only slow")
    told.tell(0, 12.5)
    assert [one.value for one in told.opened.state().measured][-1] == 12.5


@pytest.mark.long
def test_what_has_no_outcome_is_not_discarded_and_what_has_one_not_without_a_reason(told):
    (asked,) = told.ask()
    before = told.opened.study.get_trials()
    for ids, measured, said in (
        ([0], "", "trial 0 has the value 0.25, which cannot be forgotten; `measured` says"),
        ([0], " ", "`measured` says why it is wrong"),
        ([0, asked.id], "dead", f"trial {asked.id} has no outcome yet; forget it without"),
        ([0, 99], "dead", "no id 99"),
        ([0], 3, "measured: got 3, expected a text"),
    ):
        with pytest.raises(InvalidInput, match=said):
            told.forget(ids, measured)
    assert told.opened.study.get_trials() == before


@pytest.mark.long
def test_each_door_discards_by_the_same_word(told):
    answer = Verbs(told).answer({"verb": "forget", "ids": [0, 1], "measured": "dead"})
    assert [one["id"] for one in answer["forgotten"]] == [0, 1]
    asked = json.dumps({"verb": "status"})
    assert Verbs(told).answer(json.loads(asked))["finished"] == 4


@pytest.mark.long
def test_a_run_measures_another_round_in_its_place(write_study):
    path = write_study()
    tune(trials_of(path, rounds=4), Scripted(), Stop())
    numbers = [one.number for one in open_study(path).state().trials]
    open_ask_tell(path).forget(numbers[:2], "another load")
    assert open_study(path).state().finished == 2
    tune(trials_of(path, rounds=4), Scripted(), Stop())
    state = open_study(path).state()
    assert (state.finished, len(state.trials)) == (4, 4 + 2 + 2)


@pytest.mark.long
def test_another_study_takes_over_what_was_not_discarded(told, tmp_path):
    told.forget([0], "dead")
    other = tmp_path / "other.toml"
    text = told.study_file.path.read_text().replace("hill", "other")
    other.write_text(text)
    import_study(other, next(told.study_file.folder.glob("hill.*")))
    assert [one.value for one in open_study(other).state().trials] == [11.0, 12.0, 13.0, 14.0, 15.0]


@pytest.mark.long
@pytest.mark.parametrize("directions", [["minimize"], ["minimize", "maximize"]])
def test_a_sampler_that_has_read_it_forgets_it(directions):
    study = optuna.create_study(directions=directions, sampler=SurefootSampler(seed=0, initial=2))
    fresh = optuna.create_study(directions=directions, sampler=SurefootSampler(seed=0, initial=2))
    for number, x in enumerate(np.linspace(0.0, 1.0, 6)):
        values = [(x - 0.7) ** 2 if number else -50.0] + [x] * (len(directions) - 1)
        one = create_trial(
            params={"x": x}, distributions={"x": FloatDistribution(0, 1)}, values=values
        )
        study.add_trial(one)
        if number:
            fresh.add_trial(one)
    study.ask({"x": FloatDistribution(0, 1)})
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    discard(study, study.trials[0], "wrong")
    study.ask({"x": FloatDistribution(0, 1)})
    for name, one in belief(fresh).objectives.items():
        found = belief(study).objectives[name].predict([{"x": 0.1}, {"x": 0.6}])
        expected = one.predict([{"x": 0.1}, {"x": 0.6}])
        np.testing.assert_allclose(found, expected, rtol=1e-6)

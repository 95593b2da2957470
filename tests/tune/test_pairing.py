"""Configurations beside a companion: what is recorded, what cancels, and when pairs are chosen."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from optuna.trial import TrialState

from support.study_doubles import Scripted, all_of, measurement, trials_of
from surefoot.tune.ask_tell.ask_tell import open_ask_tell
from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.display import result_of
from surefoot.tune.following.event_log import event_log
from surefoot.tune.measuring.beside import Companion
from surefoot.tune.measuring.measurement import VALUE, Failure
from surefoot.tune.observer import SILENT
from surefoot.tune.report.collect import collect
from surefoot.tune.stopping import Stop
from surefoot.tune.study.opened_study import create_study, open_study
from surefoot.tune.study.pairing import ATTEMPTS, OFTEN, PILOTS, Pairing, Repeats, companion_of
from surefoot.tune.study.schedule import REMEASURED
from surefoot.tune.study.summary import summarise
from surefoot.tune.study.tables import trial_table
from surefoot.tune.study.trial_attributes import PAIR, failure_reason, is_interrupted
from surefoot.tune.study.trials import NoTrial, StudyTrials
from surefoot.tune.workers.worker_loop import tune

DEFAULTS = (
    ("high = 65536, log = true }", "high = 65536, log = true, default = 1024 }"),
    ("high = 1 }", "high = 1, default = 0.5 }"),
    ('"FULL"] }', '"FULL"], default = "OFF" }'),
)
FAILED = Failure("exit status 1", "sorry", 0.1)


def paired(companion: str = "defaults") -> tuple[tuple[str, str], ...]:
    table = f'[pairing]\nwith = "{companion}"\n\n[parameters]'
    return (*DEFAULTS, ("[parameters]", table))


class Machine(Scripted):
    """A value of `share` times a level, which changes from one measurement to the next."""

    def __init__(self, levels, noise: float = 0.0) -> None:
        super().__init__()
        self.levels, self.random, self.noise = levels, np.random.default_rng(0), noise

    def measure(self, params, stop):
        self.before()
        self.asked.append(dict(params))
        error = 1.0 + self.noise * self.random.standard_normal()
        return measurement((1.0 + params["share"]) * next(self.levels) * error, 0.1)


def levels(length: int, *each: float):
    """Levels that stay for so many measurements."""
    return itertools.cycle([level for level in each for _ in range(length)])


@pytest.mark.parametrize(
    "companion", ["defaults", pytest.param("incumbent", marks=pytest.mark.long)]
)
def test_a_level_that_a_pair_shares_cancels(write_study, companion):
    study_trials = trials_of(write_study(*paired(companion)), rounds=4)
    objective = Machine(itertools.chain([1.0], levels(2, 3.0, 0.2, 5.0)))
    tune(study_trials, objective, Stop())
    trials = all_of(study_trials)
    assert [trial.state for trial in trials] == [TrialState.COMPLETE] * 4
    assert len(objective.asked) == 7
    for trial in trials[1:]:
        beside = companion_of(trial)
        expected = (1.0 + trial.params["share"]) / (1.0 + beside.params["share"]) * beside.reference
        assert math.isclose(trial.value, expected)
        assert f"{trial.user_attrs[PAIR]['value']:.5g} beside" in result_of(
            trial, study_trials.study_file
        )


@pytest.mark.slow
def test_the_order_within_pairs_is_random_and_the_study_s_own(write_study):
    orders = []
    for _ in range(2):
        path = write_study(*paired())
        (path.parent / "hill.db").unlink(missing_ok=True)
        study_trials = trials_of(path, rounds=6)
        tune(study_trials, Scripted(), Stop())
        orders.append([companion_of(trial).order for trial in all_of(study_trials)[1:]])
    assert set(orders[0]) == {"ab", "ba"}
    assert orders[0] == orders[1]


@pytest.mark.parametrize("shift", [-7.0, 0.0, 4.0])
def test_differences_are_used_where_values_are_not_positive(shift):
    companion = Companion({}, -1.0, "ab")
    result = measurement(2.0 + shift, 0.1, beside=(measurement(-1.5 + shift, 0.1),))
    assert math.isclose(companion.relative(result).value, 2.5)


def test_errors_of_both_measurements_are_in_that_of_the_pair():
    result = measurement(30.0, 0.1, sem=0.9, beside=(measurement(20.0, 0.1, sem=0.8),))
    relative = Companion({}, 10.0, "ab").relative(result)
    assert relative.value == pytest.approx(15.0)
    assert relative.sem == pytest.approx(15.0 * math.hypot(0.03, 0.04))


def test_units_of_both_measurements_are_made_the_same():
    results = [
        measurement(1.5, 0.1, unit="s"),
        measurement(1e3, 0.1, unit="ms"),
    ]
    found = Companion({}, 1.0, "ab").measure(Scripted([*results]), {}, Stop())
    assert found.units == {VALUE: "s"}
    assert [one.value for one in found.beside] == [1.0]
    results[1] = measurement(1e3, 0.1, unit="MB")
    refused = Companion({}, 1.0, "ab").measure(Scripted([*results]), {}, Stop())
    assert isinstance(refused, Failure)
    assert refused.blameless


@pytest.mark.parametrize("order", ["ab", "ba", "abb", "bba"])
@pytest.mark.parametrize("which", ["a", "b"])
def test_a_failure_of_the_companion_is_not_the_configuration_s(order, which):
    position = order.index(which)
    script = [measurement(1.0, 0.5)] * position + [FAILED]
    objective = Scripted(script)
    found = Companion({"x": 1}, 1.0, order).measure(objective, {"x": 2}, Stop())
    assert isinstance(found, Failure)
    assert found.blameless is (which == "b")
    assert ("companion" in found.reason) is (which == "b")
    assert len(objective.asked) == position + 1  # nothing is measured for a pair that is lost
    assert found.seconds == pytest.approx(0.5 * position + 0.1)


def test_the_log_of_events_has_both_measurements(write_study, tmp_path):
    study_trials = trials_of(write_study(*paired()), rounds=2)
    with event_log(tmp_path / "events")(study_trials, SILENT) as log:
        tune(study_trials, Machine(itertools.repeat(2.0)), Stop(), log)
    events = [json.loads(line) for line in (tmp_path / "events").open()]
    pairs = [one.get("pair") for one in events if one["event"] == "measured"]
    assert pairs == [None, all_of(study_trials)[1].user_attrs[PAIR]]


@pytest.mark.parametrize("after", [1, 2])
def test_a_run_that_is_cut_off_loses_one_pair_at_most(write_study, after):
    path = write_study(*paired())
    study_trials = trials_of(path, rounds=4)
    objective = Machine(itertools.repeat(1.0))

    def cut_off() -> None:
        if len(objective.asked) == 3 + after - 1:
            objective.before = lambda: None
            raise KeyboardInterrupt

    objective.before = cut_off
    with pytest.raises(KeyboardInterrupt):
        tune(study_trials, objective, Stop())
    assert [is_interrupted(trial) for trial in all_of(study_trials)] == [False, False, True]
    again = trials_of(path, rounds=4, run="another run")
    tune(again, objective, Stop())
    assert again.opened.state().finished == 4
    first = all_of(again)[0].value
    assert all(companion_of(one).reference == first for one in all_of(again)[1:])


def test_nothing_is_measured_before_there_is_a_reference(write_study):
    study_trials = trials_of(write_study(*paired()), rounds=4, run="a run that goes on")
    first = study_trials.begin_next()
    assert study_trials.begin_next() is NoTrial.WAIT
    study_trials.record(first, measurement(2.0, 0.1))
    second, third = study_trials.begin_next(), study_trials.begin_next()
    assert companion_of(second).reference == companion_of(third).reference == 2.0


@pytest.mark.parametrize("failures", [1, ATTEMPTS - 1])
def test_defaults_that_failed_are_measured_again_before_anything_else(write_study, failures):
    study_trials = trials_of(write_study(*paired()), rounds=failures + 3)
    script = [FAILED] * failures + [measurement(one, 0.1) for one in (2.0, 3.0, 2.0, 1.0, 2.0)]
    tune(study_trials, Scripted(script), Stop())
    trials = all_of(study_trials)
    defaults = study_trials.study_file.defaults
    assert [one.params == defaults for one in trials[: failures + 1]] == [True] * (failures + 1)
    assert [companion_of(one).reference for one in trials[failures + 1 :]] == [2.0] * 2


def test_without_a_measurement_of_the_defaults_all_is_measured_alone_and_says_so(write_study):
    study_trials = trials_of(path := write_study(*paired()), rounds=ATTEMPTS + 2)
    script = [FAILED] * ATTEMPTS + [measurement(1.0, 0.1), measurement(2.0, 0.1)]
    tune(study_trials, Scripted(script), Stop())
    trials, defaults = all_of(study_trials), study_trials.study_file.defaults
    assert [companion_of(trial) for trial in trials] == [None] * len(trials)
    assert [one.params == defaults for one in trials].count(True) == ATTEMPTS
    (note,) = (one for one in summarise(open_study(path)).effects if "pairing" in one)
    assert note.startswith("pairing: off, since the defaults failed in 3 trials")
    both = trials_of(path, rounds=ATTEMPTS + 4, run="a run that goes on")
    alone = [both.begin_next() for _ in range(2)]  # which do not wait for each other
    assert NoTrial.WAIT not in alone
    for one in alone:
        both.record(one, measurement(1.0, 0.1))
    tune(again := trials_of(path, rounds=ATTEMPTS + OFTEN + 3), Scripted(), Stop())
    later = all_of(again)[ATTEMPTS + 2 :]  # they are tried again, and now succeed
    assert [one.params == defaults for one in later].count(True) == 1
    assert companion_of(later[-1]).reference == 1.0


@pytest.mark.parametrize(("companion", "reference"), [("defaults", 2.0), ("none", None)])
def test_a_table_has_what_was_printed_beside_what_it_was_converted_to(
    write_study, companion, reference
):
    study_trials = trials_of(path := write_study(*paired(companion)), rounds=2)
    script = [measurement(2.0, 0.1), measurement(6.0, 0.1), measurement(6.0, 0.1)]
    tune(study_trials, Scripted(script), Stop())
    rows, columns = trial_table(open_study(path).state())
    assert ("measured" in columns) is ("beside" in columns) is (companion == "defaults")
    if reference:
        assert [one["value"] for one in rows] == [2.0, 2.0]
        assert [one["measured"] for one in rows] == [2.0, 6.0]
        assert [one["beside"] for one in rows] == [None, pytest.approx(6.0)]


@pytest.mark.slow
@pytest.mark.parametrize("companion", ["defaults", "auto"])
def test_predictions_agree_with_the_recommendation_at_present(write_study, companion):
    """Under a level that rose by half, in pairs, or alone once these were not worth their cost."""
    path = write_study(*paired(companion), ("rounds = 8", "rounds = 16"))
    study_trials = StudyTrials(create_study(StudyFile.load(path)), 16, "a run", "w0")
    tune(study_trials, Machine(itertools.chain([1.0], itertools.repeat(1.5)), 0.01), Stop())
    asked, summary = open_ask_tell(path), summarise(open_study(path))
    best, defaults = asked.predict(["recommended", "default"])
    assert best.present.value == pytest.approx(summary.present)
    assert best.present.lower < best.present.value < best.present.upper
    assert best.line(summary.units).startswith(f"at present {summary.present:.5g} ")
    assert summary.present == pytest.approx(1.5 * (1.0 + best.value.params["share"]), rel=0.05)
    assert defaults.present.value == pytest.approx(1.5 * 1.5, rel=0.05)
    if companion == "defaults":  # all is based on their value, which is certain then
        assert defaults.value.lower == defaults.value.value == defaults.value.upper
        assert defaults.as_dict["present"]["lower"] == defaults.present.value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("each", "pairs"), [((1.0,), False), ((1.0, 1.7, 0.6, 2.5, 1.2), True)], ids=["quiet", "busy"]
)
def test_auto_chooses_pairs_where_the_level_changes_between_rounds(write_study, each, pairs):
    study_trials = trials_of(write_study(*paired("auto")), rounds=PILOTS + 5)
    objective = Machine(itertools.chain([1.0], levels(3, *each)), noise=0.05)
    tune(study_trials, objective, Stop())
    orders = [companion_of(trial).order for trial in all_of(study_trials)[1:]]
    assert {*map(len, orders[:PILOTS])} == {3}
    assert {*map(len, orders[PILOTS:])} == {2 if pairs else 1}
    pairing = Pairing(study_trials.opened.state())
    repeats = pairing.repeats
    assert repeats.favour_pairs is pairs
    assert pairing.chose_singles is not pairs
    assert (pairing.default_value is None) is not pairs  # which a later drift would make wrong
    kinds = [trial.user_attrs.get(REMEASURED) for trial in all_of(study_trials)]
    assert ("default" in kinds) is not pairs
    assert ("pairing: pairs" in str(repeats)) is pairs


def test_without_noise_and_changes_there_is_nothing_to_pair():
    assert not Repeats.of([[1.0, 1.0]] * PILOTS).favour_pairs
    assert Repeats.of([[1.0, 1.0]] * (PILOTS - 1)) is None


@pytest.mark.slow
@pytest.mark.parametrize("companion", ["none", "defaults"])
def test_no_round_is_for_the_defaults_alone_where_they_are_beside_all(write_study, companion):
    path = write_study(*paired(companion), ("rounds = 8", "rounds = 8\n\n[confirm]\nevery = 5"))
    study_trials = trials_of(path, rounds=7)
    tune(study_trials, Machine(itertools.repeat(2.0), noise=0.01), Stop())
    kinds = [trial.user_attrs.get(REMEASURED) for trial in all_of(study_trials)]
    assert ("default" in kinds) is (companion == "none")


@pytest.mark.long
def test_the_change_and_the_value_at_present_are_reported(write_study):
    path = write_study(*paired(), ("rounds = 8", "rounds = 14"))
    study_trials = StudyTrials(create_study(StudyFile.load(path)), 14, "a run", "w0")
    objective = Machine(itertools.chain([1.0], levels(2, 1.0, 3.0, 4.0)), noise=0.01)
    tune(study_trials, objective, Stop())
    summary = summarise(open_study(path))
    best = (1.0 + summary.recommended.params["share"]) / 1.5
    assert summary.defaults.value == all_of(study_trials)[0].value
    change = 1.0 + summary.defaults.change / summary.defaults.value
    assert abs(change - best) < 0.05
    level = np.median([one.user_attrs[PAIR]["companion"] for one in all_of(study_trials)[-3:]])
    assert summary.present == pytest.approx(level * change)
    assert "against the defaults, at present" in summary.paired


@pytest.mark.parametrize(
    ("replacements", "message"),
    [
        ((("[parameters]", '[pairing]\nwith = "defaults"\n[parameters]'),), "no parameter has"),
        (paired("x"), "pairing.with: got 'x', expected 'auto', 'defaults'"),
        ((("[parameters]", "[pairing]\ncompanion = 1\n[parameters]"),), "Expected one of with"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(write_study, replacements, message):
    with pytest.raises(StudyFileError, match=message.replace("(", r"\(")):
        StudyFile.load(write_study(*replacements))


def test_several_objectives_have_no_companion(write_study):
    several = '[objectives]\np95 = { direction = "minimize" }\nrate = { direction = "maximize" }\n'
    with pytest.raises(StudyFileError, match=r"pairing: given beside \[objectives\]"):
        StudyFile.load(
            write_study(
                *DEFAULTS,
                ('direction = "minimize"\n', ""),
                ("[parameters]", several + '[pairing]\nwith = "defaults"\n[parameters]'),
            )
        )


def test_a_companion_survives_storage_and_anything_else_is_none():
    companion = Companion({"x": 1}, 2.0, "abb", (1.0, 2.0))
    assert Companion.of(companion.as_dict()) == companion
    for wrong in (None, 3, {}, {**companion.as_dict(), "order": 1}, {"params": {}}):
        assert Companion.of(wrong) is None


def test_a_failed_companion_is_named_in_its_trial(write_study):
    study_trials = trials_of(write_study(*paired()), rounds=2)
    script = [measurement(1.0, 0.1), FAILED]
    tune(study_trials, Scripted(script), Stop())
    failed = all_of(study_trials)[1]
    companion = companion_of(failed)
    assert failed.state == TrialState.FAIL
    assert failure_reason(failed).startswith("its companion: ") is (companion.order[0] == "b")


@pytest.mark.slow
def test_the_defaults_have_one_value_in_pairs_whoever_is_asked(write_study):
    """The measurements are its unit, where they are recommended too."""
    study_trials = trials_of(path := write_study(*paired()), rounds=2)
    objective = Machine(itertools.repeat(10.0))
    objective.measure = lambda params, stop: measurement(  # nothing is better than the defaults
        10.0 + 5.0 * (params != study_trials.study_file.defaults), 0.1
    )
    tune(study_trials, objective, Stop())
    summary, (told,) = summarise(open_study(path)), open_ask_tell(path).predict(["default"])
    assert summary.recommended.params == study_trials.study_file.defaults
    assert summary.recommended.value == told.value.value == 10.0
    assert summary.recommended.lower == summary.recommended.upper == 10.0
    assert summary.present == pytest.approx(told.present.value)
    report = collect(open_study(path).state())
    assert report.level == "at the level of the first measurement"
    assert report.defaults == "the defaults, at present 10"

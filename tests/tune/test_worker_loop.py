"""The loop's promises: what is recorded, when it ends, what a resumed or shared study holds."""

from __future__ import annotations

import math
import sqlite3
import subprocess
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import optuna
import pytest
import sqlalchemy
from optuna.trial import TrialState, create_trial

from support.study_doubles import Scripted, all_of, measurement, trials_of
from surefoot.integrations.optuna import INTERRUPTED, WORKER
from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.measuring.measurement import Failure
from surefoot.tune.observer import Observer
from surefoot.tune.stopping import Stop
from surefoot.tune.study import trial_owner
from surefoot.tune.study.heartbeat import SILENCE, SilentTrials, heartbeats
from surefoot.tune.study.location import NoStudy, StorageFailed
from surefoot.tune.study.opened_study import create_study, open_study
from surefoot.tune.study.trial_attributes import (
    OWNER,
    failure_reason,
    is_interrupted,
    is_round,
)
from surefoot.tune.study.trials import MAX_FAILURES, TRIED_AGAIN, NoTrial, StudyTrials
from surefoot.tune.workers import worker_loop
from surefoot.tune.workers.worker_loop import TooManyFailures, tune

FAILED = Failure("exit status 1", "sorry", 0.1)


def states(study_trials: StudyTrials) -> list[str]:
    return [trial.state.name for trial in all_of(study_trials)]


@pytest.mark.long
def test_it_runs_until_the_study_holds_its_rounds(write_study):
    study_trials = trials_of(write_study(), rounds=4)
    objective = Scripted([measurement(float(i), 0.5) for i in range(3)])
    tune(study_trials, objective, Stop())
    trials = all_of(study_trials)
    assert [trial.value for trial in trials] == [0, 1, 2, 1]
    assert [trial.params for trial in trials] == objective.asked
    assert set(trials[0].params) == {"size", "share", "mode"}
    assert trials[0].user_attrs["seconds"] == 0.5
    assert objective.closed
    tune(study_trials, objective, Stop())
    assert len(all_of(study_trials)) == 4


@pytest.mark.long
def test_every_trial_is_stored_before_the_next_begins(write_study):
    path = write_study()
    study_trials = trials_of(path, rounds=3)
    seen = []
    objective = Scripted(
        before=lambda: seen.append(
            [trial.state.name for trial in open_study(path).study.get_trials(deepcopy=False)]
        )
    )
    tune(study_trials, objective, Stop())
    assert seen == [["RUNNING"], ["COMPLETE", "RUNNING"], ["COMPLETE", "COMPLETE", "RUNNING"]]


def test_failures_are_recorded_with_their_reason_and_count_as_rounds(write_study):
    study_trials = trials_of(write_study(), rounds=3)
    tune(study_trials, Scripted([measurement(1.0, 0.1), FAILED]), Stop())
    assert states(study_trials) == ["COMPLETE", "FAIL", "COMPLETE"]
    attributes = all_of(study_trials)[1].user_attrs
    assert attributes["failure"] == "exit status 1"
    assert attributes["output"] == "sorry"
    assert INTERRUPTED not in attributes


@pytest.mark.long
def test_five_failures_in_a_row_end_the_run_and_a_new_run_starts_afresh(write_study):
    path = write_study()
    study_trials = trials_of(path, rounds=20)
    script = [FAILED] * 4 + [measurement(1.0, 0.1)] + [FAILED] * 9
    objective = Scripted(script)
    message = (
        r"5 failures in a row, the last \(trial 9\) of a configuration that had been measured: "
        "exit status 1"
    )
    with pytest.raises(TooManyFailures, match=message):
        tune(study_trials, objective, Stop())
    trials = all_of(study_trials)
    assert len(trials) == 10
    assert trials[9].params == trials[4].params
    again = trials_of(path, rounds=20, run="another run")
    tune(again, objective, Stop())  # with four more failures, then measurements
    assert states(again)[10:15] == ["FAIL"] * 4 + ["COMPLETE"]
    assert again.opened.state().finished == 20


def test_failures_that_the_search_chose_end_no_study_that_has_results(write_study):
    """A known configuration is tried after four, which tells them from a command that fails."""
    path = write_study()
    study_trials = trials_of(path, rounds=13)
    script = [FAILED] * 3 + [measurement(1.0, 0.1)] + ([FAILED] * 4 + [measurement(1.0, 0.1)]) * 2
    tune(study_trials, Scripted(script), Stop())
    trials = all_of(study_trials)
    assert [one.number for one in trials if TRIED_AGAIN in one.user_attrs] == [8]
    assert trials[8].params == trials[3].params


@pytest.mark.long
@pytest.mark.parametrize("already", [True, False])
def test_failures_of_several_workers_end_no_run_before_a_known_configuration_was_tried(
    write_study, already
):
    """The fifth failure comes while another worker tries it already, or before any does."""
    path = write_study()
    study_trials, others = (trials_of(path, 13, f"tried already: {already}") for _ in range(2))
    others.opened.study.sampler = optuna.samplers.RandomSampler(seed=1)
    objective = Scripted([measurement(1.0, 0.1), FAILED])
    tried = []

    def meanwhile() -> None:
        if len(objective.asked) == 1:
            for trial in [others.begin_next() for _ in range(4)]:
                others.record(trial, FAILED)
            if already:
                tried.append(others.begin_next())
        elif tried:
            others.record(tried.pop(), measurement(1.0, 0.1))

    objective.before = meanwhile
    tune(study_trials, objective, Stop())
    trials = all_of(study_trials)
    (again,) = (one for one in trials if TRIED_AGAIN in one.user_attrs)
    assert again.params == trials[0].params
    assert states(study_trials).count("FAIL") == 5


@pytest.mark.long
def test_a_configuration_that_the_rules_forbid_by_now_is_not_tried_again(write_study):
    lines = '[environment]\ncontrol = "given"\nload = { type = "float", low = 0, high = 1 }\n'
    rule = '[[require]]\nrule = "size * load <= 1000"\n'
    path = write_study(("[parameters]", f"{rule}\n{lines}\n[parameters]"))
    before, now = (replace(trials_of(path, 20, "given"), given={"load": x}) for x in (0.0, 1.0))
    for result in [measurement(1.0, 0.1), *[FAILED] * 4]:
        before.record(before.begin_next(), result)
    assert TRIED_AGAIN in before.begin_next().user_attrs
    before.interrupt_own("for the other")
    assert TRIED_AGAIN not in now.begin_next().user_attrs


@pytest.mark.long
def test_a_requested_stop_ends_after_the_trial_that_runs(write_study):
    study_trials = trials_of(write_study())
    stop = Stop()
    tune(study_trials, Scripted(before=lambda: setattr(stop, "requested", True)), stop)
    assert states(study_trials) == ["COMPLETE"]


@pytest.mark.long
@pytest.mark.parametrize(
    "error",
    [
        RuntimeError,
        SystemExit,
        KeyboardInterrupt,
    ],
)
def test_whatever_cuts_a_trial_off_it_is_marked_and_does_not_count(write_study, error):
    study_trials = trials_of(write_study(), rounds=2)

    def cut_off() -> None:
        raise error

    objective = Scripted(before=cut_off)
    with pytest.raises(error):
        tune(study_trials, objective, Stop())
    (trial,) = all_of(study_trials)
    assert trial.state == TrialState.FAIL
    assert trial.user_attrs[INTERRUPTED]
    assert "interrupted" in trial.user_attrs["failure"]
    assert objective.closed
    tune(study_trials, Scripted(), Stop())
    assert states(study_trials) == ["FAIL", "COMPLETE", "COMPLETE"]
    assert study_trials.opened.state().finished == 2


def running_trial(study_trials: StudyTrials, process: dict | None) -> None:
    """A trial that runs in the study, as the given process's."""
    attributes = {} if process is None else {OWNER: process}
    study = study_trials.opened.study
    study.add_trial(create_trial(state=TrialState.WAITING, user_attrs=attributes))
    study.ask(fixed_distributions=study_trials.study_file.distributions)


@pytest.mark.long
def test_trials_of_a_killed_process_are_given_up_those_of_a_living_one_are_not(write_study):
    study_trials = trials_of(write_study(), rounds=3)
    me = trial_owner.this_process("a run that goes on")
    running_trial(
        study_trials, {**me, "born": "12"}
    )  # my pid, but of a process that was there before
    running_trial(study_trials, me)
    running_trial(study_trials, None)  # of a script of the user's own
    stop = Stop()
    waited = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        stop.requested = True

    tune(study_trials, Scripted(), stop, sleep=sleep)
    assert states(study_trials) == ["FAIL", "RUNNING", "RUNNING", "COMPLETE", "COMPLETE"]
    # Two of three rounds are done and the living process holds the third.
    assert study_trials.opened.state().finished == 2
    assert waited
    assert all_of(study_trials)[0].user_attrs[INTERRUPTED]


def test_a_run_that_waits_for_another_machine_says_so(write_study, monkeypatch):
    monkeypatch.setattr(worker_loop, "PATIENCE", 0.0)
    study_trials = trials_of(write_study(), rounds=2)
    there = {**trial_owner.this_process("another run"), "host": "far\x1b[2Jaway"}
    running_trial(study_trials, there)
    stop, notes = Stop(), []

    def sleep(seconds: float) -> None:
        stop.requested = len(sleeps) == 3
        sleeps.append(seconds)

    sleeps: list[float] = []
    tune(study_trials, Scripted(), stop, Observer(note=notes.append), sleep=sleep)
    (note,) = notes  # once
    assert note.startswith("waiting for trial 0, which the machine ")
    assert "counts as lost" in note
    assert "\x1b" not in note


def test_a_run_that_waits_for_a_process_of_this_machine_says_nothing(write_study, monkeypatch):
    monkeypatch.setattr(worker_loop, "PATIENCE", 0.0)
    study_trials = trials_of(write_study(), rounds=1)
    running_trial(study_trials, trial_owner.this_process("another run"))
    stop, notes = Stop(), []

    def sleep(seconds: float) -> None:
        stop.requested = True

    tune(study_trials, Scripted(), stop, Observer(note=notes.append), sleep=sleep)
    assert notes == []


def test_processes_of_this_machine_are_looked_up():
    here = trial_owner.this_process("a run of its own")
    assert not trial_owner.is_gone(here)
    assert not trial_owner.is_elsewhere(here)
    assert trial_owner.is_elsewhere({**here, "host": "elsewhere"})
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert trial_owner.is_gone({**here, "pid": gone.pid})


def test_trials_of_an_ended_run_of_this_process_are_given_up(write_study):
    """It may have been unable to say so, as on a full disk."""
    study_trials = trials_of(write_study(), rounds=2)
    running_trial(study_trials, trial_owner.this_process("a run that has ended"))
    trial_owner.run_ended("a run that has ended")
    tune(study_trials, Scripted(), Stop())
    assert states(study_trials) == ["FAIL", "COMPLETE", "COMPLETE"]
    assert all_of(study_trials)[0].user_attrs[INTERRUPTED]


def test_a_process_on_a_machine_with_the_same_name_is_not_taken_to_be_gone():
    here = trial_owner.this_process("run")
    assert trial_owner.is_elsewhere({**here, "boot": ["another boot", here["boot"][1]]})


def test_a_trial_of_another_machine_is_lost_once_its_heartbeat_stops(write_study):
    now = [0.0]
    study_trials = trials_of(write_study(), rounds=3)
    study_trials = replace(study_trials, _silent=SilentTrials(lambda: now[0]))
    there = {**trial_owner.this_process("another run"), "host": "elsewhere"}
    running_trial(study_trials, there)
    for beat in range(5):  # alive for much longer than the timeout
        now[0] += SILENCE - 1.0
        study_trials.beat(all_of(study_trials)[0], beat)
        study_trials.interrupt_lost()
    assert states(study_trials) == ["RUNNING"]
    now[0] += SILENCE
    study_trials.interrupt_lost()
    assert states(study_trials) == ["FAIL"]
    assert all_of(study_trials)[0].user_attrs[INTERRUPTED]


def test_a_heartbeat_that_fails_does_not_end_the_measurement():
    beats = []

    def beat(count: int) -> None:
        beats.append(count)
        raise OSError("no connection")

    with heartbeats(beat, interval=0.01):
        deadline = time.monotonic() + 10.0
        while len(beats) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert beats[:3] == [1, 2, 3]


@pytest.mark.long
def test_the_worker_is_recorded_with_each_trial(write_study):
    study_trials = trials_of(write_study(), rounds=1)
    tune(study_trials, Scripted(), Stop())
    assert all_of(study_trials)[0].user_attrs[WORKER] == "w0"


@pytest.mark.long
def test_an_interruption_neither_breaks_nor_lengthens_a_row_of_failures(write_study):
    study_trials = trials_of(write_study(), rounds=20)
    objective = Scripted([FAILED] * 9)
    gone = {**trial_owner.this_process(study_trials.run), "born": "12"}
    objective.before = lambda: len(objective.asked) == 3 and running_trial(study_trials, gone)
    with pytest.raises(TooManyFailures):
        tune(study_trials, objective, Stop())
    assert len(objective.asked) == 5
    assert states(study_trials) == ["FAIL"] * 6


@pytest.mark.long
def test_several_loops_on_one_storage_do_exactly_the_rounds(write_study):
    """Threads here, each with a connection of its own, as processes have."""
    path = write_study()
    shared = [trials_of(path, rounds=17, run="shared") for _ in range(4)]
    objectives = [Scripted(before=lambda: time.sleep(0.01)) for _ in shared]
    threads = [
        threading.Thread(target=tune, args=(study_trials, objective, Stop()))
        for study_trials, objective in zip(shared, objectives, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert states(shared[0]) == ["COMPLETE"] * 17
    assert sum(len(objective.asked) for objective in objectives) == 17
    assert sum(bool(objective.asked) for objective in objectives) > 1


def test_a_trial_that_another_process_gave_up_is_let_go(write_study):
    study_trials = trials_of(write_study(), rounds=2)
    objective = Scripted()

    def give_up() -> None:
        if not objective.asked:
            study_trials.interrupt_own("by mistake")

    objective.before = give_up
    tune(study_trials, objective, Stop())
    assert states(study_trials) == ["FAIL", "COMPLETE", "COMPLETE"]


@pytest.mark.long
def test_trials_that_a_person_queued_come_first(write_study):
    study_trials = trials_of(write_study(), rounds=2)
    study_trials.opened.study.enqueue_trial({"size": 4096, "share": 0.25, "mode": "FULL"})
    objective = Scripted()
    tune(study_trials, objective, Stop())
    assert objective.asked[0] == {"size": 4096, "share": 0.25, "mode": "FULL"}
    assert len(all_of(study_trials)) == 2


@pytest.mark.long
def test_a_full_disk_is_one_line_and_nothing_recorded_is_lost(write_study):
    path = write_study()
    study_trials = trials_of(path, rounds=300)
    file = path.parent / "hill.db"
    # An SQLite file that may not grow behaves as on a full disk.
    pages = sqlite3.connect(file).execute("PRAGMA page_count").fetchone()[0]
    engine = study_trials.opened.storage.engine

    @sqlalchemy.event.listens_for(engine, "connect")
    def limit(connection, record):
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")

    engine.dispose()
    with pytest.raises(StorageFailed) as caught:
        tune(study_trials, Scripted(), Stop())
    assert "database or disk is full" in str(caught.value)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)
    again = trials_of(path, rounds=300)
    kept = again.opened.state().finished
    assert kept > 2
    tune(trials_of(path, rounds=kept + 2), Scripted(), Stop())
    assert again.opened.state().finished == kept + 2


class TestResuming:
    """What a storage must hold to be gone on with."""

    def refused(self, path, match: str) -> None:
        storage = path.parent / "hill.db"
        before = storage.read_bytes()
        for opening in (lambda: create_study(StudyFile.load(path)), lambda: open_study(path)):
            with pytest.raises(StudyFileError, match=match) as caught:
                opening()
            assert "\n" not in str(caught.value)
            assert str(caught.value).startswith("STUDY.toml: ")
        assert storage.read_bytes() == before
        assert {file.name for file in path.parent.iterdir()} == {
            "STUDY.toml",
            "bench.py",
            "hill.db",
        }

    @pytest.mark.daily(1)
    @pytest.mark.parametrize(
        ("change", "match"),
        [
            (("high = 65536", "high = 513"), r"parameters.size: got \{.*513.*65536"),
            (("low = 0, high", "low = 0.999, high"), "parameters.share"),
            (('"NORMAL", ', ""), "parameters.mode"),
            (('"minimize"', '"maximize"'), "study.direction: got maximize, .* has minimize"),
            (("share =", 'extra = { type = "int", low = 1, high = 2 }\nshare ='), "extra"),
        ],
    )
    def test_changed_parameters_or_direction_are_refused(self, write_study, change, match):
        tune(trials_of(write_study(), rounds=1), Scripted(), Stop())
        command = "x {size} {share} {mode}" + (" {extra}" if "extra" in change[1] else "")
        self.refused(write_study(change, command=command), match)

    def test_a_removed_parameter_is_refused(self, write_study):
        tune(trials_of(write_study(), rounds=1), Scripted(), Stop())
        change = ("share = {", "# share = {")
        self.refused(write_study(change, command="x {size} {mode}"), "parameters.share: got no su")

    @pytest.mark.long
    def test_the_storage_of_another_study_is_refused(self, write_study):
        tune(trials_of(write_study(), rounds=1), Scripted(), Stop())
        path = write_study(('"hill"', '"dale"\nstorage = "sqlite:///hill.db"'))
        storage = path.parent / "hill.db"
        before = storage.read_bytes()
        with pytest.raises(StudyFileError, match="is the storage of study 'hill', not of 'dale'"):
            create_study(StudyFile.load(path))
        assert storage.read_bytes() == before

    def test_a_study_begun_in_optuna_is_welcome_if_it_fits(self, write_study):
        path = write_study()
        url = f"sqlite:///{path.parent / 'hill.db'}"
        study = optuna.create_study(storage=url, study_name="hill")
        study.ask(fixed_distributions={"size": optuna.distributions.IntDistribution(1, 9)})
        self.refused(path, "parameters.size")
        path = write_study(("low = 512, high = 65536, log = true", "low = 1, high = 9"))
        assert trials_of(path).opened.state().finished == 0

    def test_a_changed_command_is_noted_once_and_kept(self, write_study):
        assert create_study(StudyFile.load(write_study())).note == ""
        changed = write_study(command="other {size} {share} {mode}")
        assert "objective has changed" in create_study(StudyFile.load(changed)).note
        assert create_study(StudyFile.load(changed)).note == ""

    def test_rounds_seed_and_timeout_may_change(self, write_study):
        create_study(StudyFile.load(write_study()))
        changed = write_study(("rounds = 8", "rounds = 9\nseed = 5"), ("timeout = 30", ""))
        assert create_study(StudyFile.load(changed)).note == ""

    @pytest.mark.parametrize("content", [b"not a database at all, but a longish text" * 50, None])
    def test_a_file_of_something_else_is_left_alone(self, write_study, content):
        path = write_study()
        file = path.parent / "hill.db"
        if content is None:
            with sqlite3.connect(file) as base:
                base.execute("CREATE TABLE customers (name TEXT)")
        else:
            file.write_bytes(content)
        self.refused(path, "SQLite file")


def test_looking_at_a_study_that_is_not_there_creates_nothing(write_study):
    path = write_study()
    with pytest.raises(NoStudy, match=r"hill.db: no such storage; run `surefoot tune STUDY.toml`"):
        open_study(path)
    assert not (path.parent / "hill.db").exists()


def test_a_storage_in_a_folder_that_is_not_there(write_study):
    path = write_study(("rounds = 8", 'rounds = 8\nstorage = "sqlite:///no/such/place.db"'))
    with pytest.raises(StudyFileError, match=r"study.storage: cannot create .*unable to open"):
        create_study(StudyFile.load(path))
    assert not (path.parent / "no").exists()


def test_a_storage_that_needs_a_driver_which_is_missing(write_study):
    path = write_study(("rounds = 8", 'rounds = 8\nstorage = "nosuch://me:secret@host/db"'))
    with pytest.raises(StudyFileError, match=r"study\.storage") as caught:
        create_study(StudyFile.load(path))
    assert "secret" not in str(caught.value)


def test_the_sampler_is_told_of_no_interrupted_trials():
    assert MAX_FAILURES == 5
    assert is_round(SimpleNamespace(state=TrialState.FAIL, user_attrs={}))
    assert not is_round(SimpleNamespace(state=TrialState.FAIL, user_attrs={INTERRUPTED: True}))
    assert not is_round(SimpleNamespace(state=TrialState.RUNNING, user_attrs={}))


class Killed(BaseException):
    """Ends a process at once, as far as its study_trials can tell: it cleans nothing up."""


class KilledWhileChoosing(optuna.samplers.RandomSampler):
    def sample_relative(self, study, trial, search_space):
        raise Killed


@pytest.mark.long
@pytest.mark.parametrize("when", ["queued", "choosing"])
def test_however_early_a_process_is_killed_its_trial_has_an_owner(write_study, monkeypatch, when):
    path = write_study()
    study_trials = trials_of(path, rounds=1)
    study_trials.opened.study.sampler = KilledWhileChoosing()
    if when == "queued":
        monkeypatch.setattr(study_trials.opened.study, "ask", KilledWhileChoosing().sample_relative)
        with pytest.raises(TypeError):
            study_trials.begin_next()
    else:
        with pytest.raises(Killed):
            study_trials.begin_next()
    monkeypatch.undo()
    monkeypatch.setattr(trial_owner, "is_gone", lambda process: True)
    again = trials_of(path, rounds=1)
    assert states(again) == ["WAITING" if when == "queued" else "RUNNING"]
    tune(again, Scripted(), Stop())
    assert states(again) == ["COMPLETE"] if when == "queued" else ["FAIL", "COMPLETE"]
    assert again.begin_next() is NoTrial.DONE


@pytest.mark.daily(1)
@pytest.mark.parametrize(
    ("queued", "wrong"),
    [
        ({"size": "large"}, "size is 'large', expected a whole number from"),
        ({"size": None, "share": 0.5}, "size is None, expected a whole number from"),
        ({"size": 1024.5}, "size is 1024.5, expected a whole number from"),
        ({"share": math.nan}, "share is nan, expected a number from"),
        ({"share": 7.0}, "share is 7.0, expected a number from"),
        ({"share": [0.5]}, "share is [0.5], expected a number from"),
        ({"mode": "OTHER"}, "mode is 'OTHER', expected"),
        ({"sise": 1024}, "'sise' is not a parameter"),
    ],
)
def test_a_queued_trial_that_cannot_be_measured_is_no_round(write_study, queued, wrong):
    study_trials = trials_of(write_study(), rounds=1)
    study_trials.opened.study.enqueue_trial(queued)
    study_trials.opened.study.enqueue_trial({"share": 0.25})
    tune(study_trials, objective := Scripted(), Stop())
    rejected, measured = all_of(study_trials)
    assert failure_reason(rejected).startswith(f"queued, and not measured: {wrong}")
    assert is_interrupted(rejected)
    assert measured.state == TrialState.COMPLETE
    assert [asked["share"] for asked in objective.asked] == [0.25]

"""An opened study: one location a run, one reading and one belief for each change of the study."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Callable

import optuna
import pytest
from rich.console import Console
from sqlalchemy.exc import OperationalError, PendingRollbackError

from support.study_doubles import Scripted, measurement, trials_of
from surefoot.hyperparameters.student_t_fit import HyperparameterFit
from surefoot.integrations.optuna import SurefootSampler
from surefoot.tune import StudyFile, import_table, open_study, run, summarise
from surefoot.tune.definition import contents
from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.measuring.measurement import Failure
from surefoot.tune.measuring.objective import usable_objective
from surefoot.tune.measuring.setup_commands import set_up
from surefoot.tune.stopping import Stop
from surefoot.tune.study import opened_study, storage_faults
from surefoot.tune.study.location import StorageFailed
from surefoot.tune.study.opened_study import create_study
from surefoot.tune.workers.worker_loop import tune
from surefoot.types import NotReady

TABLE = "size,share,mode,value\n" + "".join(f"{1000 + i},0.{i},OFF,{i}\n" for i in range(8))


@pytest.fixture
def counts(monkeypatch) -> Counter[str]:
    """Numbers of calls of the functions that read, locate, fit and model."""
    found: Counter[str] = Counter()

    def count(owner: object, name: str) -> None:
        function = getattr(owner, name)

        def counted(*arguments, **keywords):
            # A fit without rewards is the prior that a model starts from.
            if name != "fit" or len(arguments[1].rewards):
                found[name] += 1
            return function(*arguments, **keywords)

        monkeypatch.setattr(owner, name, counted)

    count(opened_study, "locate")
    count(optuna.study.Study, "get_trials")
    count(SurefootSampler, "belief")
    count(HyperparameterFit, "fit")
    return found


@pytest.mark.long
def test_what_a_run_with_progress_does_is_proportional_to_its_rounds(write_study, counts):
    readings = {}
    for rounds in (3, 9):
        path = write_study(('"hill"', f'"hill{rounds}"'), ("minimize", "maximize"))
        path.write_text(
            path.read_text().replace("[parameters]", "[confirm]\nevery = 0\n[parameters]")
        )
        counts.clear()
        run(path, rounds=rounds, console=Console(file=io.StringIO()))
        assert (counts["locate"], counts["belief"], counts["fit"]) == (1, rounds, rounds)
        readings[rounds] = counts["get_trials"]
    assert readings[9] - readings[3] <= 4 * 6
    assert readings[3] <= 4 * 3 + 8


@pytest.mark.long
def test_a_belief_is_shared_until_another_trial_has_finished(write_study):
    trials = trials_of(write_study())
    opened = trials.opened
    with pytest.raises(NotReady):
        opened.state().belief  # noqa: B018
    trials.record(trials.begin_next(), measurement(1.0, 0.1))
    before = opened.state()
    trial = trials.begin_next()
    assert len(opened.state().trials) == len(before.trials) + 1
    assert opened.state().belief is before.belief
    trials.record(trial, Failure("exit status 1", "", 0.1))
    after = opened.state()
    assert after.belief is not before.belief
    assert (after.finished, after.failed) == (2, 1)
    assert (before.finished, before.failed) == (1, 0)


@pytest.mark.long
def test_a_past_state_has_the_trials_of_its_time(write_study):
    path = write_study()
    (path.parent / "runs.csv").write_text(TABLE)
    import_table(path, path.parent / "runs.csv")
    tune(trials_of(path, rounds=10), Scripted([Failure("exit status 1", "", 0.1)]), Stop())
    opened = open_study(path)
    past, now = opened.state().after(6), opened.state()
    assert past.belief.fitted.values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert [trial.number for trial in now.measured] == [*range(8), 9]
    opened.recommended[6] = now.recommendation
    assert now.recommended_after(6) is opened.recommended[6]
    assert now.recommended_after(7).params == now.after(7).recommendation.params


@pytest.mark.long
def test_the_end_of_a_run_says_what_a_fresh_process_does(write_study):
    path = write_study()
    outcome = run(path, rounds=5, quiet=True).summary
    fresh = summarise(open_study(path))
    assert outcome.recommended.params == fresh.recommended.params
    for name in ("value", "lower", "upper"):
        one, other = (getattr(each.recommended, name) for each in (outcome, fresh))
        assert math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)


def _disconnection(kind: str) -> Exception:
    if kind == "ended":
        return OperationalError("SELECT", {}, Exception("gone"), connection_invalidated=True)
    return PendingRollbackError("Can't reconnect until invalid transaction is rolled back")


@pytest.mark.daily(2)
@pytest.mark.parametrize("kind", ["ended", "caught"])
@pytest.mark.parametrize("place", ["do", "before"])
def test_what_a_server_interrupts_is_done_again_on_another_connection(
    write_study, monkeypatch, kind, place
):
    monkeypatch.setattr(storage_faults, "sleep", lambda seconds: None)
    opened = trials_of(write_study()).opened
    calls, removed = [], []
    opened.storage.remove_session = lambda: removed.append(len(calls))

    def failing(name: str, times: float) -> Callable[[], str]:
        def call() -> str:
            calls.append(name)
            if calls.count(name) <= times:
                raise _disconnection(kind)
            return name

        return call

    times = {"do": 1, "before": 0, place: 4}
    do, before = failing("do", times["do"]), failing("before", times["before"])
    assert opened.attempt("testing", do, before) == "do"
    assert len(removed) == sum(times.values())
    with pytest.raises(StorageFailed, match="testing failed"):
        opened.attempt("testing", failing("always", math.inf), before)


def test_commands_and_parameters_of_a_study_file_are_read_once(write_study, monkeypatch):
    path = write_study(("timeout = 30", 'setup = "true"\nteardown = "true"'))
    made: Counter[str] = Counter()

    def counted(what: str, function: Callable[..., object]) -> Callable[..., object]:
        return lambda *given: made.update([what]) or function(*given)

    monkeypatch.setattr(CommandTemplate, "parse", counted("command", CommandTemplate.parse))
    monkeypatch.setattr(contents, "Space", counted("space", contents.Space))
    study_file = StudyFile.load(path)
    with usable_objective(study_file, print) as (_, kept):
        create_study(study_file)
        with set_up(study_file, kept, Stop(), print):
            assert made == {"command": 3, "space": 1}
    assert made == {"command": 3, "space": 1}

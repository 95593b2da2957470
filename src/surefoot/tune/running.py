"""A tuning run, from the study file to the last trial."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optuna.samplers import BaseSampler
from optuna.trial import TrialState
from rich.console import Console

from surefoot._internal import checks
from surefoot.tune.comparison.named_settings import given_values
from surefoot.tune.definition.command_template import shell_notes
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.display import console_of, display_of, show
from surefoot.tune.measuring.objective import Objective, usable_objective
from surefoot.tune.measuring.setup_commands import set_up
from surefoot.tune.measuring.supervised_process import KeptProcesses
from surefoot.tune.observer import Observer, check_log, event_log
from surefoot.tune.plain_text import listed
from surefoot.tune.stopping import Stop, stop_on_signals
from surefoot.tune.study.findings import Findings, summarise
from surefoot.tune.study.opened_study import create_study, import_model, open_study
from surefoot.tune.study.schedule import Schedule, without_effect
from surefoot.tune.study.state import StudyState
from surefoot.tune.study.trial_owner import worker_name
from surefoot.tune.study.trials import StudyTrials
from surefoot.tune.workers.executor import ExecutorObjective, check_executor
from surefoot.tune.workers.worker_loop import tune
from surefoot.tune.workers.workers import tune_with_workers
from surefoot.types import SurefootError

STOPPING = "Stopping when the running trial is recorded; Ctrl-C again stops at once."


@dataclass(frozen=True)
class Outcome:
    """End of a run.

    Args:
        stopped: Whether Ctrl-C ended it before its last round.
        summary: The results of the study.
        rounds: Finished trials that the run was to reach, with time enough.
    """

    stopped: bool
    summary: Findings
    rounds: int


def run(
    path: Path | str,
    *,
    rounds: int | None = None,
    workers: int | None = None,
    executor: str = "",
    quiet: bool = False,
    sampler: BaseSampler | None = None,
    console: Console | None = None,
    log: Path | None = None,
    given: Mapping[str, Any] | None = None,
) -> Outcome:
    """Tune until the study has its rounds, those of earlier runs included.

    Handles signals while it runs, so it must be called from the main thread.

    Args:
        path: The study file.
        rounds: Finished trials to reach, by default the study file's.
        workers: Number of configurations to measure at the same time, by default 1.
        executor: `module:name` of a function that returns the `concurrent.futures.Executor` whose
            workers measure; its module may be beside the study file. By default this machine does.
        quiet: Show no progress.
        sampler: Optuna sampler of a run with one worker, by default surefoot's own. Another one may
            choose values between a special value and the scale of its parameter.
        console: Where to show the progress, by default standard output.
        log: File to which a line of JSON is appended for each event.
        given: Value of each given variable of the study during this run, by name.

    Returns:
        How the run ended, and the results of the study.

    Raises:
        StudyFileError: If the study file is invalid; nothing has been created or measured.
        InvalidInput: If a given variable has no value, or one out of its range, or the log cannot
            be a file; likewise.
        ExecutorFailed: If no worker of the executor answers, though there is something to measure.
        TooManyFailures: After five failures in a row, with all measurements recorded.
        WorkersFailed: If all workers have ended, with all measurements recorded.
        CommandFailed: If the study file's setup or teardown fails.
        StorageFailed: If the storage cannot be read or written.
        KeyboardInterrupt: At a second Ctrl-C.
    """
    if workers is not None:
        checks.count("workers", workers)
    if rounds is not None:
        checks.count("rounds", rounds)
    if log is not None:
        check_log(log)
    study_file = StudyFile.load(path)
    under = given_values(study_file, given or {})
    stop, console = Stop(), console_of(quiet) if console is None else console
    with usable_objective(
        study_file, lambda line: show(console, f"{line} at the end of the run"), not executor
    ) as (objective, kept):
        if executor and not _has_its_rounds(study_file, rounds):
            check_executor(study_file, executor)
        opened = create_study(study_file, sampler)
        trials = StudyTrials(
            opened=opened,
            rounds=study_file.study.rounds if rounds is None else rounds,
            run=uuid.uuid4().hex[:12],
            worker="" if executor else worker_name(0),
            given=under,
        )
        before = opened.state()
        complete = before.finished >= trials.target(before)
        if not complete:
            import_model()
        # A terminal whose cursor is hidden has handlers that bring it back.
        with (
            stop_on_signals(stop),
            display_of(trials, console, quiet, stop) as shown,
            event_log(trials, log) as logged,
        ):
            display = Observer.all_of([logged, shown])  # the log is quick
            stop.note = lambda: display.note(STOPPING)
            if opened.note:
                display.note(opened.note)
            late = without_effect(study_file, trials.rounds)
            for note in [*shell_notes(study_file.objective.commands), *([late] if late else [])]:
                display.note(f"warning: {note}")
            end = Schedule(before, trials.rounds).end if complete else None
            for note in filter(None, [_resumed(trials, before), str(end or "")]):
                display.note(note)
            if not complete:
                with set_up(study_file, kept, stop, display.note):
                    _tune(trials, objective, workers or 1, executor, stop, kept, display)
            if not trials.seconds_left(after := opened.state()):
                display.note(
                    f"the budget of {study_file.study.budget} is over after {after.finished} of "
                    f"{trials.planned(after)} rounds"
                )
    summary = summarise(opened, under)
    is_stopped = stop.requested and summary.trials < trials.target(summary.state)
    return Outcome(is_stopped, summary, trials.planned(summary.state))


def _resumed(trials: StudyTrials, before: StudyState) -> str:
    """Remains of an earlier run, in words; empty where there was none."""
    running = any(trial.state == TrialState.RUNNING for trial in before.trials)
    lost = trials.interrupt_lost() if running else []
    finished = before.finished
    if not finished and not lost:
        return ""
    text = f"resumed after {finished} finished round{'s' * (finished != 1)}"
    if lost:
        plural = len(lost) > 1
        text += f"; trial{'s' * plural} {listed(lost)} {'were' if plural else 'was'} interrupted, "
        text += f"and {'do' if plural else 'does'} not count"
    return text


def _has_its_rounds(study_file: StudyFile, rounds: int | None) -> bool:
    """Whether there is nothing left to measure, found without creating anything."""
    try:
        state = open_study(study_file.path).state()
    except SurefootError:
        return False
    schedule = Schedule(state, study_file.study.rounds if rounds is None else rounds)
    return state.finished >= schedule.target()


def _tune(
    trials: StudyTrials,
    objective: Objective,
    workers: int,
    executor: str,
    stop: Stop,
    kept: KeptProcesses,
    display: Observer,
) -> None:
    if workers > 1 or executor:
        objective.close()  # each worker has its own
    if workers > 1:
        tune_with_workers(trials, workers, executor, stop, kept, display)
        return
    if executor:
        objective = ExecutorObjective(trials.study_file, executor, trials.run)
    tune(trials, objective, stop, display)

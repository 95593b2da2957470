"""A whole tuning run, from the study file to the last trial, with its display and its signals."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import optuna
from optuna.samplers import BaseSampler
from rich.console import Console

from surefoot._internal import checks
from surefoot.integrations.optuna import StudyRecommendation
from surefoot.tune.command_line import WrongCommand
from surefoot.tune.ledger import Ledger, counts, failed
from surefoot.tune.loop import tune
from surefoot.tune.objective import Objective
from surefoot.tune.opening import begin_study, belief_of, objective_of, recommendation_of
from surefoot.tune.progress import LivePanel, Nothing, PlainLines, Progress
from surefoot.tune.risk_section import StatedRisk
from surefoot.tune.status import Lookout
from surefoot.tune.stopping import Stop, on_signals
from surefoot.tune.storage import locate
from surefoot.tune.study_file import StudyFile
from surefoot.tune.workers import tune_with_workers
from surefoot.types import NotReady

STOPPING = "Stopping when the running trial is recorded; Ctrl-C again stops at once."


@dataclass(frozen=True)
class Summary:
    """What a study has found, in its own units; `recommended` is None without a measurement.

    `trials` are the finished ones, `failed` those of them that gave no measurement. `risk` says
    what the recommended value is in a study with an environment.
    """

    trials: int
    failed: int
    recommended: StudyRecommendation | None
    risk: StatedRisk | None = None


@dataclass(frozen=True)
class Outcome:
    """How a run ended: whether Ctrl-C stopped it before its last round, and what was found."""

    stopped: bool
    summary: Summary
    rounds: int


def summarise(study_file: StudyFile, study: optuna.Study) -> Summary:
    """The recommendation of a study's model, and how many trials it rests on."""
    try:
        recommended = recommendation_of(study_file, belief_of(study_file, study))
    except NotReady:
        recommended = None
    trials = study.get_trials(deepcopy=False)
    finished, failures = sum(map(counts, trials)), sum(map(failed, trials))
    return Summary(finished, failures, recommended, study_file.stated_risk)


def run(
    path: Path | str,
    *,
    rounds: int | None = None,
    workers: int = 1,
    quiet: bool = False,
    sampler: BaseSampler | None = None,
    console: Console | None = None,
) -> Outcome:
    """Tune until the study holds `rounds` finished trials, those of earlier runs included.

    `rounds` is the study file's unless given. `sampler` is surefoot's own unless given; more than
    one worker always have surefoot's. Shows its progress on the console unless `quiet`. Handles
    signals while it runs, so it belongs in a main thread.

    Raises `StudyFileError` before anything is created or measured; `Failing`, `WorkersFailed` and
    `StorageFailed` with all measurements recorded; `KeyboardInterrupt` at a second Ctrl-C.
    """
    checks.count("workers", workers)
    if rounds is not None:
        checks.count("rounds", rounds)
    study_file = StudyFile.load(path)
    objective = objective_of(study_file)
    with contextlib.closing(objective):
        try:
            objective.check()
        except WrongCommand as error:
            raise study_file.error(error.key, str(error)) from None
        opened = begin_study(study_file, sampler)
        ledger = Ledger(
            study_file=study_file,
            study=opened.study,
            storage=opened.storage,
            rounds=study_file.study.rounds if rounds is None else rounds,
            run=uuid.uuid4().hex[:12],
        )
        stop = Stop()
        with _shown(ledger, quiet, console or Console()) as progress:
            if opened.note:
                progress.note(opened.note)
            with on_signals(stop, lambda: progress.note(STOPPING)):
                _tune(ledger, objective, workers, stop, progress)
    summary = summarise(study_file, opened.study)
    return Outcome(stop.requested and summary.trials < ledger.rounds, summary, ledger.rounds)


def _tune(
    ledger: Ledger, objective: Objective, workers: int, stop: Stop, progress: Progress
) -> None:
    if workers == 1 or ledger.finished() >= ledger.rounds:
        tune(ledger, objective, stop, progress)
    else:
        objective.close()  # each worker has its own
        tune_with_workers(ledger, workers, stop, progress.finished, progress.note)


@contextlib.contextmanager
def _shown(ledger: Ledger, quiet: bool, console: Console) -> Iterator[Progress]:
    if quiet:
        yield Nothing()
        return
    study_file = ledger.study_file
    lookout = Lookout(ledger, lambda: belief_of(study_file, ledger.study))
    title = f"{study_file.study.name}: {study_file.study.direction}"
    if study_file.environment is not None and study_file.stated_risk is not None:
        over = ", ".join(study_file.environment.variables)
        title += f" the {study_file.stated_risk.name} over {over}"
    if console.is_terminal:
        panel = LivePanel(lookout, console, title)
        with panel.shown():
            yield panel
    else:
        lines = PlainLines(lookout, console)
        place = locate(study_file).label
        lines.note(f"{title}, {lookout.already} of {ledger.rounds} rounds finished, in {place}")
        yield lines

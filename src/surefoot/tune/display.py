"""The progress display of `surefoot tune`: a live panel, plain lines, or nothing."""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TextIO, cast

from optuna.trial import FrozenTrial, TrialState
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from surefoot._internal.numbers import TESTED
from surefoot.integrations.optuna.predictions import unmeasured_text
from surefoot.integrations.optuna.search_space import ExhaustedSpace
from surefoot.tune.definition.constraint_text import beyond_text, probability_text
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.estimate_text import Units, measured_text, setting_text
from surefoot.tune.observer import SILENT, NewTrials, Observer
from surefoot.tune.plain_text import printable
from surefoot.tune.stopping import Stop
from surefoot.tune.study.failures import explained_failure
from surefoot.tune.study.findings import Findings, exhausted_note
from surefoot.tune.study.front_text import front_words
from surefoot.tune.study.model_checks import contradictions
from surefoot.tune.study.schedule import Schedule
from surefoot.tune.study.state import StudyState
from surefoot.tune.study.trial_attributes import (
    LEFT_BEHIND,
    failure_reason,
    is_interrupted,
    trial_constraints,
    trial_environment,
)
from surefoot.tune.study.trials import StudyTrials
from surefoot.tune.system import StandardOutput

NOT_FEASIBLE = "no feasible configuration yet"


def console_of(quiet: bool) -> Console:
    """The console of standard output, which goes nowhere once its terminal is closed."""
    return Console(file=cast(TextIO, StandardOutput()), quiet=quiet)


@contextlib.contextmanager
def display_of(
    trials: StudyTrials, console: Console, quiet: bool, stop: Stop
) -> Iterator[Observer]:
    """A panel in a terminal, lines elsewhere, nothing if `quiet`."""
    if quiet:
        yield SILENT
        return
    # a note of the progress says it
    with warnings.catch_warnings(action="ignore", category=ExhaustedSpace):
        yield from _shown(trials, console, stop)


def _shown(trials: StudyTrials, console: Console, stop: Stop) -> Iterator[Observer]:
    location, study_file = trials.opened.location, trials.study_file
    progress = Progress(trials, stop)
    title = f"{study_file.study.name}: {study_file.scheme.goal}"
    if not console.is_terminal:
        rounds = rounds_text(progress.finished_before, trials.rounds)
        show(console, f"{title}, {rounds}, in {location.label}")
        yield plain_lines(progress, console)
        return
    panel = LivePanel(progress, console, title)
    # A low refresh rate: the machine is busy with what is being measured.
    with Live(get_renderable=panel.render, console=console, refresh_per_second=2):
        yield Observer(progress.update, panel.finished, panel.note)


class Progress:
    """The progress of a run, with the findings by the model of the latest measurements.

    `findings` is None before the first measurement.
    """

    def __init__(self, trials: StudyTrials, stop: Stop) -> None:
        self._trials, self._stop, self._new = trials, stop, NewTrials(trials)
        self._start, self.finished_before = time.monotonic(), self.state.finished
        self._said: set[str] = set()  # kinds of messages
        self._effects: dict[str, str] = {}  # those at the last look, by the first word
        self._notes: list[str] = []
        self.findings: Findings | None = None

    @property
    def state(self) -> StudyState:
        """The study at the last look."""
        return self._new.state

    @property
    def study_file(self) -> StudyFile:
        """The study file, with the units of what was measured."""
        return self.state.study_file

    def update(self) -> list[FrozenTrial]:
        """Read the study; returns the trials that have finished since, in order of their end."""
        new = self._new.look()
        for trial in new:
            if text := str(trial.user_attrs.get(LEFT_BEHIND, "")):
                keep = "`keep = true` in [objective] would keep them"
                self._say("left behind", f"trial {trial.number}: {text}; {keep}")
        measured = sum(trial.state == TrialState.COMPLETE for trial in self.state.trials)
        if measured and (self.findings is None or measured != self.findings.measured):
            self._use(Findings(self.state))
        return new

    @property
    def target(self) -> int:
        """Rounds to reach."""
        return self._trials.target(self.state)

    @property
    def rounds(self) -> int:
        """Rounds to reach with time enough."""
        return self._trials.planned(self.state)

    @property
    def share(self) -> float:
        """Share of the rounds that is done, or of the budget if that is more."""
        left, budget = self._trials.seconds_left(self.state), self.study_file.study.seconds
        spent = 0.0 if math.isinf(budget) else 1.0 - left / budget
        return max(self.state.finished / self.rounds, spent)

    @property
    def seconds_left(self) -> float | None:
        """At the pace of this run so far, however many workers it has.

        None before its first trial has finished in a study without a budget, and once a stop is
        requested.
        """
        left, finished = self._trials.seconds_left(self.state), self.state.finished
        if (done := finished - self.finished_before) > 0:
            pace = (time.monotonic() - self._start) / done
            left = min(left, pace * max(0, self.target - finished))
        return left if left < math.inf and not self._stop.requested else None

    @property
    def outliers(self) -> int | None:
        """Number of outliers, None before there are enough measurements to tell them."""
        if self.findings is None or self.findings.measured < TESTED:
            return None
        return int(self.findings.state.belief.outliers.sum())

    def _use(self, findings: Findings) -> None:
        """Show the recommendation of a state, and note its contradictions."""
        if findings.recommended is None:
            return
        state, earlier = findings.state, self._trials.opened.recommended
        # To compare the model with another one takes as long as a fit.
        doubts = contradictions(state, earlier, compared=findings.measured % TESTED == 0)
        self.findings, earlier[findings.measured] = findings, state.recommendation
        end = Schedule(state, self._trials.rounds).end
        before, self._effects = self._effects, {one.split()[0]: one for one in findings.effects}
        gone = [one.partition(":")[0] for kind, one in before.items() if kind not in self._effects]
        self._notes += [f"No longer so: {one}." for one in gone]
        self._notes += [one for kind, one in self._effects.items() if kind not in before]
        for text in doubts:
            self._say(text.split()[0], f"warning: {text}")
        self._say("exhausted", exhausted_note(state))
        self._say("stop", "" if end is None else str(end))

    def _say(self, kind: str, text: str) -> None:
        """Have a message shown, if it is the first of its kind and not empty."""
        if text and kind not in self._said:
            self._said.add(kind)
            self._notes.append(text)

    def notes(self) -> list[str]:
        """Messages that have not been shown yet."""
        new, self._notes = self._notes, []
        return new


def plain_lines(progress: Progress, console: Console) -> Observer:
    """A line for every trial, for logs and pipes."""

    def finished() -> None:
        new = progress.update()
        finished = progress.state.finished - sum(not is_interrupted(trial) for trial in new)
        for trial in new:
            finished += not is_interrupted(trial)
            count = f"{finished} of {progress.rounds}"
            summary = _summary(progress) if trial is new[-1] else []
            show(console, "  |  ".join([result_of(trial, progress.study_file), count, *summary]))
        for text in progress.notes():
            show(console, text)

    return Observer(finished=finished, note=partial(show, console))


class LivePanel:
    """A panel that is redrawn in place; failures and notes scroll by above it."""

    def __init__(self, progress: Progress, console: Console, title: str) -> None:
        self._progress = progress
        self._console = console
        self._title = title
        self._last: FrozenTrial | None = None
        self._since: dict[int, float] = {}
        progress.update()

    def finished(self) -> None:
        for trial in self._progress.update():
            self._last = trial
            if trial.state != TrialState.COMPLETE:
                self.note(result_of(trial, self._progress.study_file))
        for text in self._progress.notes():
            self.note(text)

    def note(self, text: str) -> None:
        self._console.print(f"[yellow]{escape(printable(text))}[/yellow]", highlight=False)

    def render(self) -> RenderableType:
        status, state = self._progress, self._progress.state
        bar = ProgressBar(total=1.0, completed=min(status.share, 1.0))
        head = Table.grid(padding=(0, 2), expand=True)
        head.add_column(no_wrap=True)
        head.add_column(ratio=1)
        head.add_column(no_wrap=True)
        left = status.seconds_left
        time_left = "" if left is None else f"{format_seconds(left)} left"
        head.add_row(f"[bold]{state.finished}[/bold] of {status.rounds} rounds", bar, time_left)
        body = Table.grid(padding=(0, 2))
        body.add_column(style="dim", no_wrap=True)
        body.add_column(overflow="fold")
        for name, text in self._recommended():
            body.add_row(name, text)
        last = "none" if self._last is None else printable(result_of(self._last, status.study_file))
        body.add_row("Last", Text(last))
        body.add_row("Running", Text(printable(self._running())))
        failures = f"[red]{state.failed}[/red]" if state.failed else "0"
        outliers = "–" if status.outliers is None else status.outliers
        body.add_row("Outliers", f"{outliers}      [dim]Failures[/dim]  {failures}")
        return Panel(
            Group(head, Text(), body), title=escape(self._title), title_align="left", padding=(1, 2)
        )

    def _recommended(self) -> Iterator[tuple[str, RenderableType]]:
        """Rows on what is recommended."""
        if (found := self._progress.findings) is None:
            yield "Recommended", Text("nothing measured yet", style="dim")
            return
        best, units = found.state.recommendation, self._progress.study_file.units
        if found.front is not None:
            yield "Front", Text(printable(front_words(found.front.front)))
            return
        value = printable(found.estimate), "bold green" if best.feasible else "yellow"
        name = "Recommended" if best.feasible else "Nearest"
        yield name, Text.assemble(f"{found.quantity} ", value)
        if not best.feasible:
            why = f"{NOT_FEASIBLE}, its constraints hold with probability "
            why += probability_text(best.feasibility)
            if best.unmeasured:
                why = f"{NOT_FEASIBLE}: {unmeasured_text(best.unmeasured)}"
            yield "", Text(printable(why), style="yellow")
        for name, setting in best.params.items():
            text = printable(units.of(name, setting, setting_text(setting)))
            yield "", Text.assemble(f"{name} = ", (text, "bold"))

    def _running(self) -> str:
        now = time.monotonic()
        trials = self._progress.state.trials
        running = [t for t in trials if t.state == TrialState.RUNNING and t.params]
        self._since = {t.number: self._since.get(t.number, now) for t in running}
        shown = [
            f"trial {t.number}{_environment(t)} for {format_seconds(now - self._since[t.number])}"
            for t in running[:3]
        ]
        more = f" and {len(running) - 3} more" if len(running) > 3 else ""
        if shown:
            return ", ".join(shown) + more
        done = self._progress.state.finished >= self._progress.target
        return "nothing" if done else "choosing a configuration"


def show(console: Console, text: str) -> None:
    """Print a line to a terminal or a file."""
    console.print(printable(text), markup=False, highlight=False, soft_wrap=True)


def result_of(trial: FrozenTrial, study_file: StudyFile) -> str:
    """Result of a finished trial, in a line, with the constraints that its values are beyond."""
    if trial.state == TrialState.COMPLETE:
        value = study_file.units.of_value(measured_text(trial.value))
        reported = trial_constraints(trial)
        limits = beyond_text(reported, study_file.constraints, study_file.units.reported)
        value = objectives_text(study_file, value, reported)
        return f"trial {trial.number}: {value}{_environment(trial)}{limits}"
    if is_interrupted(trial):
        return f"trial {trial.number}: {failure_reason(trial)}"
    return f"trial {trial.number}: failed, {explained_failure(trial)}"


def objectives_text(study_file: StudyFile, value: str, reported: Mapping[str, float]) -> str:
    """A measured value, with its name and the further objectives where there are several."""
    units = study_file.units.reported
    further = (
        f"{name} {measured_text(reported[name])} {units.get(name, '')}".rstrip()
        for name in study_file.scheme.further
        if name in reported
    )
    named = [f"{name} {value}" for name in [*study_file.scheme.objectives][:1]]
    return ", ".join([*named, *further]) or value


def rounds_text(finished: int, rounds: int, failed: int = 0) -> str:
    """Number of finished rounds of a study, in words."""
    failures = f", {failed} of them failed" if failed else ""
    if finished > rounds:
        return f"{finished} rounds finished{failures} ({rounds} requested)"
    return f"{finished} of {rounds} rounds finished{failures}"


def format_seconds(seconds: float) -> str:
    """A duration in its one or two largest units."""
    total = round(seconds)
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60} min {total % 60:02d} s" if total < 600 else f"{total // 60} min"
    return f"{total // 3600} h {total % 3600 // 60:02d} min"


def _summary(status: Progress) -> list[str]:
    parts, found, state = [], status.findings, status.state
    if found is not None and found.front is not None:
        parts.append(front_words(found.front.front))
    elif found is not None:
        best = found.state.recommendation
        described = status.study_file.units.settings(best.params)
        what = "" if found.quantity == "value" else f"with {found.quantity} "
        why = f" ({unmeasured_text(best.unmeasured)})" if best.unmeasured else ""
        name = "recommended" if best.feasible else f"{NOT_FEASIBLE}{why}, nearest"
        parts.append(f"{name} {what}{found.estimate}: {described}")
    plural = "" if status.outliers == 1 else "s"
    outliers = "" if status.outliers is None else f"{status.outliers} outlier{plural}, "
    parts.append(f"{outliers}{state.failed} failed")
    if (left := status.seconds_left) is not None and state.finished < status.rounds:
        parts.append(f"{format_seconds(left)} left")
    return parts


def _environment(trial: FrozenTrial) -> str:
    environment = trial_environment(trial)
    return f" at {Units().settings(environment)}" if environment else ""

"""What `surefoot tune` shows while it runs: a live panel, plain lines, or nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from optuna.trial import FrozenTrial, TrialState
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from surefoot.tune.ledger import environment_of, is_interrupted, reason_of
from surefoot.tune.status import Lookout, Status, describe, describe_time, short


class Progress(Protocol):
    """Somewhere to show a run."""

    def running(self, number: int, params: dict[str, Any]) -> None:
        """A trial is about to be measured by this process."""

    def finished(self) -> None:
        """Something may have finished: look."""

    def note(self, text: str) -> None:
        """Say something that should stay on the screen."""


class PlainLines:
    """A line for every trial, for logs and pipes."""

    def __init__(self, lookout: Lookout, console: Console) -> None:
        self._lookout = lookout
        self._console = console

    def running(self, number: int, params: dict[str, Any]) -> None:
        return None

    def finished(self) -> None:
        status = self._lookout.look()
        for trial in status.new:
            parts = [result_of(trial), f"{status.finished} of {status.rounds}"]
            if trial is status.new[-1]:
                parts += _standing(status)
            self.note("  |  ".join(parts))

    def note(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class LivePanel:
    """A panel that is redrawn in place; failures and notes scroll by above it."""

    def __init__(self, lookout: Lookout, console: Console, title: str) -> None:
        self._lookout = lookout
        self._console = console
        self._title = title
        self._status = lookout.look()
        self._last: FrozenTrial | None = None
        self._since: dict[int, float] = {}

    @contextmanager
    def shown(self) -> Iterator[None]:
        # Redrawn seldom: the machine is busy being measured.
        with Live(
            get_renderable=self._draw, console=self._console, refresh_per_second=2, screen=False
        ):
            yield

    def running(self, number: int, params: dict[str, Any]) -> None:
        self._status = self._lookout.look()

    def finished(self) -> None:
        self._status = self._lookout.look()
        for trial in self._status.new:
            self._last = trial
            if trial.state != TrialState.COMPLETE:
                self.note(result_of(trial))

    def note(self, text: str) -> None:
        self._console.print(f"[yellow]{escape(text)}[/yellow]", highlight=False)

    def _draw(self) -> RenderableType:
        status = self._status
        bar = ProgressBar(total=status.rounds, completed=min(status.finished, status.rounds))
        head = Table.grid(padding=(0, 2), expand=True)
        head.add_column(no_wrap=True)
        head.add_column(ratio=1)
        head.add_column(no_wrap=True)
        left = status.seconds_left
        time_left = "" if left is None else f"{describe_time(left)} left"
        head.add_row(f"[bold]{status.finished}[/bold] of {status.rounds} rounds", bar, time_left)
        body = Table.grid(padding=(0, 2))
        body.add_column(style="dim", no_wrap=True)
        body.add_column(overflow="fold")
        best = status.recommended
        if best is None:
            body.add_row("Recommended", Text("nothing measured yet", style="dim"))
        else:
            value = f"[bold green]{best.value:.5g}[/bold green]"
            body.add_row("Recommended", f"{value} ({best.lower:.5g} to {best.upper:.5g})")
            for name, setting in best.params.items():
                body.add_row("", f"{escape(name)} = [bold]{escape(short(setting))}[/bold]")
        body.add_row("Last", Text("none" if self._last is None else result_of(self._last)))
        body.add_row("Running", Text(self._running()))
        failures = f"[red]{status.failures}[/red]" if status.failures else "0"
        body.add_row("Outliers", f"{status.outliers}      [dim]Failures[/dim]  {failures}")
        return Panel(
            Group(head, Text(), body), title=escape(self._title), title_align="left", padding=(1, 2)
        )

    def _running(self) -> str:
        now = time.monotonic()
        running = self._status.running
        self._since = {t.number: self._since.get(t.number, now) for t in running}
        shown = [
            f"trial {t.number}{_under(t)} for {describe_time(now - self._since[t.number])}"
            for t in running[:3]
        ]
        more = f" and {len(running) - 3} more" if len(running) > 3 else ""
        if shown:
            return ", ".join(shown) + more
        done = self._status.finished >= self._status.rounds
        return "nothing" if done else "choosing a setting"


class Nothing:
    """Shows nothing."""

    def running(self, number: int, params: dict[str, Any]) -> None:
        return None

    def finished(self) -> None:
        return None

    def note(self, text: str) -> None:
        return None


def result_of(trial: FrozenTrial) -> str:
    """How a finished trial ended, in a line."""
    if trial.state == TrialState.COMPLETE:
        return f"trial {trial.number}: {trial.value:.5g}{_under(trial)}"
    if is_interrupted(trial):
        return f"trial {trial.number}: {reason_of(trial)}"
    return f"trial {trial.number}: failed, {reason_of(trial)}"


def _under(trial: FrozenTrial) -> str:
    """What a trial is measured under, where there is such a thing."""
    environment = environment_of(trial)
    return f" at {describe(environment)}" if environment else ""


def _standing(status: Status) -> list[str]:
    parts = []
    best = status.recommended
    if best is not None:
        interval = f"{best.value:.5g} ({best.lower:.5g} to {best.upper:.5g})"
        parts.append(f"recommended {interval}: {describe(best.params)}")
    plural = "" if status.outliers == 1 else "s"
    parts.append(f"{status.outliers} outlier{plural}, {status.failures} failed")
    if status.seconds_left is not None and status.finished < status.rounds:
        parts.append(f"{describe_time(status.seconds_left)} left")
    return parts

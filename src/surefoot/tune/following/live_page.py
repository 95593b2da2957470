"""The report of a study while it is measured: a page that is rewritten, and reloads itself."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from surefoot.tune.display import format_seconds
from surefoot.tune.observer import Follower, NewTrials, Observer
from surefoot.tune.report import check_report, write_state
from surefoot.tune.study.opened_study import open_study
from surefoot.tune.study.schedule import Schedule
from surefoot.tune.study.state import StudyState
from surefoot.tune.study.time_budget import latest_run, seconds_to_end
from surefoot.tune.study.trials import StudyTrials
from surefoot.types import NotReady

POLL = 2.0  # seconds between looks at the study


def live_page(path: Path) -> Follower:
    """A follower that rewrites the report after each trial.

    Args:
        path: The HTML file.

    Raises:
        InvalidInput: If it cannot be one.
    """
    check_report(path)

    @contextmanager
    def follow(trials: StudyTrials, display: Observer) -> Iterator[Observer]:
        new = NewTrials(trials)

        def write(ended: bool = False) -> None:
            write_page(new.state, path, trials.rounds, trials.run, ended)

        def finished() -> None:
            if new.look():
                write()

        write()
        try:
            yield Observer(finished=finished)
        finally:
            new.look()
            write(ended=True)

    return follow


def write_page(state: StudyState, path: Path, rounds: int, run: str, ended: bool = False) -> bool:
    """Write the report, which reloads itself unless the study has ended.

    Args:
        state: The study.
        path: The HTML file.
        rounds: Rounds to reach.
        run: Name of the run that goes on.
        ended: Whether nothing more is to come.

    Returns:
        Whether there is a report; there is none before the first measurement.
    """
    left = "" if ended else time_left(state, rounds, run, datetime.now())
    try:
        write_state(state, path, f"{progress_text(state, rounds)}{left}", reloads=not ended)
    except NotReady:
        return False
    return True


def watch(
    study_file: Path, path: Path, wrote: Callable[[StudyState], None], sleep: Callable = time.sleep
) -> None:
    """Rewrite the report whenever a trial has ended, until the study has all its rounds.

    Args:
        study_file: The study file.
        path: The HTML file.
        wrote: Called when the page has been written.
        sleep: Waits between two looks, in seconds.

    Raises:
        As `write_report`; but a study without a measurement is waited for.
    """
    check_report(path)
    opened = open_study(study_file)
    rounds, seen = opened.study_file.study.rounds, -1
    while True:
        state = opened.state()
        ended = state.finished >= Schedule(state, rounds).target()
        if state.finished != seen or ended:
            seen = state.finished
            if write_page(state, path, rounds, latest_run(state.trials), ended):
                wrote(state)
        if ended:
            return
        sleep(POLL)


def progress_text(state: StudyState, rounds: int) -> str:
    """How far a study is."""
    return f"{state.finished} of {Schedule(state, rounds).target()} rounds"


def time_left(state: StudyState, rounds: int, run: str, now: datetime) -> str:
    """When a study will end at the pace of a run; empty where that is unknown."""
    left = Schedule(state, rounds).target() - state.finished
    seconds = seconds_to_end(state.trials, run, left, now)
    return "" if math.isnan(seconds) else f", about {format_seconds(seconds)} left at {now:%H:%M}"

"""The report of a study while it is measured: a page that is rewritten, and reloads itself."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from surefoot.tune.display import format_seconds
from surefoot.tune.report import check_report, write_state
from surefoot.tune.study.opened_study import open_study
from surefoot.tune.study.schedule import Schedule
from surefoot.tune.study.state import StudyState
from surefoot.tune.study.time_budget import latest_run, seconds_to_end
from surefoot.types import NotReady

POLL = 2.0  # seconds between looks at the study


def watched(
    study_file: Path, path: Path, sleep: Callable[[float], None] = time.sleep
) -> Iterator[StudyState]:
    """Rewrite the report whenever a trial has ended, until the study has all its rounds.

    Args:
        study_file: The study file.
        path: The HTML file.
        sleep: Waits between two looks, in seconds.

    Yields:
        The study, after each time.

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
            with contextlib.suppress(NotReady):
                _write(state, path, rounds, ended)
                yield state
        if ended:
            return
        sleep(POLL)


def _write(state: StudyState, path: Path, rounds: int, ended: bool) -> None:
    """Write the report, which reloads itself unless the study has ended.

    At the pace of the latest run it says when the study will end, where that is known.
    """
    target, now = Schedule(state, rounds).target(), datetime.now()
    run, left = latest_run(state.trials), target - state.finished
    seconds = math.nan if ended else seconds_to_end(state.trials, run, left, now)
    until = "" if math.isnan(seconds) else f", about {format_seconds(seconds)} left at {now:%H:%M}"
    write_state(state, path, f"{state.finished} of {target} rounds{until}", reloads=not ended)

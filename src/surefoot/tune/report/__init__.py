"""One HTML page about a study: its results, their uncertainty, and the data."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from surefoot.tune.display import format_seconds
from surefoot.tune.output_file import check_output, output_file
from surefoot.tune.plain_text import storable
from surefoot.tune.report.collect import collect
from surefoot.tune.report.page import RELOADS, as_json, page, summary
from surefoot.tune.study.early_stop import latest_run, seconds_to_end
from surefoot.tune.study.opened_study import open_study
from surefoot.tune.study.schedule import Schedule
from surefoot.tune.study.state import StudyState
from surefoot.types import NotReady

__all__ = ["write_report", "write_state"]


_SHORT = {".md": summary, ".json": as_json}  # what is no page, by the ending
_ENDINGS = (".html", ".htm", *_SHORT)


def write_report(study_file: Path | str, output: Path | str) -> None:
    """Write the report of a study as one HTML file that needs no network.

    As Markdown it is the head, and as JSON the findings with the decision, the recommendations over
    time and the trials.

    The file appears complete or not at all. The study is not changed.

    Args:
        study_file: The study file.
        output: The HTML file to write, or a file that ends in `.md` or `.json`.

    Raises:
        InvalidInput: If the study file is invalid, or the output is in no folder or does not end
            with `.html`, `.htm`, `.md` or `.json`.
        NotReady: If the study has no measurement yet.
        StorageFailed: If the storage cannot be read.
        WriteFailed: If the output cannot be written.
    """
    output = Path(output)
    check_output(output, _ENDINGS)
    write_state(open_study(study_file).state(), output)


def write_state(state: StudyState, output: Path, progress: str = "", reloads: bool = False) -> None:
    """Write the report of a study as it is at one time; see `write_report`.

    Args:
        state: The study.
        output: The HTML file to write.
        progress: How far the study is, shown at the top.
        reloads: Whether the page reloads itself.
    """
    report, short = collect(state), _SHORT.get(output.suffix.lower())
    text = page(report, progress, reloads) if short is None else short(report)
    with output_file(output) as partial:
        partial.write_text(storable(text), encoding="utf-8")


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
    check_output(path, _ENDINGS)
    opened = open_study(study_file)
    rounds, seen = opened.study_file.study.rounds, -1
    while True:
        state = opened.state()
        ended = state.finished >= Schedule(state, rounds).target()
        if state.finished != seen or ended:
            seen = state.finished
            with contextlib.suppress(*() if ended else (NotReady,)):
                _write(state, path, rounds, ended)
                yield state
        if ended:
            return
        sleep(RELOADS)


def _write(state: StudyState, path: Path, rounds: int, ended: bool) -> None:
    """Write the report, which reloads itself unless the study has ended.

    At the pace of the latest run it says when the study will end, where that is known.
    """
    target, now = Schedule(state, rounds).target(), datetime.now()
    run, left = latest_run(state.trials), target - state.finished
    seconds = math.nan if ended else seconds_to_end(state.trials, run, left, now)
    until = "" if math.isnan(seconds) else f", about {format_seconds(seconds)} left at {now:%H:%M}"
    write_state(state, path, f"{state.finished} of {target} rounds{until}", reloads=not ended)

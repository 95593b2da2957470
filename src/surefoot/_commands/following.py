"""Options by which a run is followed: a page, a log, a command after each trial."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot._commands.terminal import say

if TYPE_CHECKING:
    from surefoot.tune.observer import Follower
    from surefoot.tune.study.state import StudyState

PageOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Rewrite the report after each trial, as a page that reloads itself."
    ),
]
LogOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Append a line of JSON for each event to this file."),
]
OnTrialOption = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help="Run after each trial, without a shell: {number}, {value}, {failure} and parameters "
        "stand for theirs.",
    ),
]
WatchOption = Annotated[
    bool,
    typer.Option(
        "--watch",
        help="Rewrite it whenever a trial has ended, until the study has all its rounds; the page "
        "reloads itself.",
    ),
]


def followers(
    study: Path, page: Path | None, log: Path | None, on_trial: str | None
) -> list[Follower]:
    """The followers that the options ask for."""
    found: list[Follower] = []
    if log is not None:
        from surefoot.tune.following.event_log import event_log

        found.append(event_log(log))
    if on_trial is not None:
        from surefoot.tune.definition.study_file import StudyFile
        from surefoot.tune.following.trial_command import trial_command

        found.append(trial_command(on_trial, StudyFile.load(study)))
    if page is not None:
        from surefoot.tune.following.live_page import live_page

        found.append(live_page(page))
    return found


def watch_page(study: Path, output: Path) -> None:
    """Rewrite the report until the study has all its rounds."""
    from surefoot.tune.following.live_page import watch

    def wrote(state: StudyState) -> None:
        say(f"wrote {output} after {state.finished} rounds")

    watch(study, output, wrote)

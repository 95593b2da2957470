"""`surefoot judge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surefoot._commands.terminal import one_line_errors, probability, say, whole

DISCARDED = 3


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(judge)


def judge(
    session: Annotated[
        Path,
        typer.Argument(metavar="SESSION", help="File of the session.", show_default=False),
    ],
    incumbent: Annotated[
        str,
        typer.Option(metavar="COMMAND", help="Measures the system as it is.", show_default=False),
    ],
    proposal: Annotated[
        str,
        typer.Option(metavar="COMMAND", help="Measures the proposed change.", show_default=False),
    ],
    maximize: Annotated[
        bool, typer.Option("--maximize", help="Larger measurements are better.")
    ] = False,
    proposals: Annotated[int | None, whole(1, "Proposals of a new session; 30 by default.")] = None,
    error: Annotated[
        float | None,
        probability(
            "Probability that a new session keeps any change that is none; 0.05 by default."
        ),
    ] = None,
    runs: Annotated[
        int | None,
        whole(
            5, "Runs of the incumbent in a new session, and of a proposal at most; 60 by default"
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the decision only.")] = False,
) -> None:
    """Keep or discard a proposed change, with a stated error for all proposals together.

    Measures the incumbent, once in a session and again after a change that was kept, and then the
    proposal until it is known to be better or unlikely to be. A run that fails is worse than any
    other. Exit code 0: keep it; 3: discard it; 1: the first five runs of the incumbent failed, and
    nothing is decided. The error holds for any noise, as long as the machine does not drift within
    the session. After an interruption the same command goes on.
    """
    with one_line_errors():
        from surefoot.tune.judging.judge import judge as decide
        from surefoot.tune.judging.session import KEEP

        rules: dict[str, object] = {"direction": "maximize"} if maximize else {}
        given = {"proposals": proposals, "error": error, "pool": runs, "most": runs}
        rules |= {name: one for name, one in given.items() if one is not None}
        result = decide(
            session, incumbent, proposal, (lambda line: None) if quiet else say, **rules
        )
        say(result.line)
    if result.decision != KEEP:
        raise typer.Exit(DISCARDED)

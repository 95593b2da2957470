"""`surefoot ask`, `tell`, `forget`, `status`, `predict` and `serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from surefoot._commands.terminal import (
    GivenOption,
    StudyArgument,
    answer,
    given_texts,
    integer,
    say,
    study_errors,
    whole,
)
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from surefoot.tune.ask_tell.ask_tell import AskTell

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
IdArgument = Annotated[
    int,
    typer.Argument(
        parser=integer(0), metavar="ID", help="Id of the configuration.", show_default=False
    ),
]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    # Names of constraints are options, and numbers may be negative.
    free = {"ignore_unknown_options": True}
    app.command()(ask)
    app.command(context_settings=free)(tell)
    app.command()(forget)
    app.command()(status)
    app.command()(predict)
    app.command()(serve)


def ask(
    study: StudyArgument,
    count: Annotated[int, whole(1, "How many.", "-n", most=1000)] = 1,
    given: GivenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Get configurations to measure by other means.

    Prints a line for each: its id, and NAME=VALUE for each parameter, quoted for a shell. They stay
    asked for until `surefoot tell` or `surefoot forget`, also after a restart, and no two at the
    same time are alike, but for repeats of the best at the end. The study file needs no command.
    Exit code 1 when no round is left.
    """
    with study_errors():
        asked = _opened(study).ask(count, given_texts(given))
        answer(as_json, [one.as_dict() for one in asked], [one.line for one in asked])
        if len(asked) < count:
            say(f"{len(asked)} of {count}: no further round of the study is left", err=True)


def tell(
    study: StudyArgument,
    id: IdArgument,
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="VALUE [NAME=NUMBER]...",
            help="The measurement, and the value of each constraint, as NAME=NUMBER or --NAME "
            "NUMBER.",
            show_default=False,
        ),
    ] = None,
    sem: Annotated[
        str, typer.Option(metavar="NUMBER", help="Standard error, in the unit of VALUE.")
    ] = "0",
    worker: Annotated[str, typer.Option(metavar="TEXT", help="Who or what measured.")] = "",
    failed: Annotated[
        str, typer.Option(metavar="TEXT", help="Why there is no measurement, instead of VALUE.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Record the measurement of a configuration that was asked for.

    Telling the same again changes nothing; another value, standard error or worker of the same id
    is refused.
    """
    with study_errors():
        value, values = _split(given or [])
        opened = _opened(study, create=False)  # nothing was asked for where there is no study
        told = opened.tell(id, value, sem=sem, values=values, worker=worker, failed=failed)
        answer(as_json, told.as_dict(), [told.line])


def forget(
    study: StudyArgument,
    ids: Annotated[
        list[int],
        typer.Argument(parser=integer(0), metavar="ID...", help="Ids.", show_default=False),
    ],
    measured: Annotated[
        str,
        typer.Option(
            metavar="TEXT", help="Why their outcomes are wrong: discard those of finished trials."
        ),
    ] = "",
) -> None:
    """Give up configurations that were asked for, or discard wrong measurements.

    A value that comes later can still be told. What is discarded stays in the history, with the
    reason; another round is measured in its place.
    """
    with study_errors():
        for one in _opened(study, create=False).forget(ids, measured):
            say(f"forgotten: {one.line}")


def status(study: StudyArgument, as_json: JsonOption = False) -> None:
    """Print the progress and the configurations that wait to be told."""
    with study_errors():
        from surefoot.tune.ask_tell.ask_tell import status_of

        found = status_of(study)
        answer(as_json, found.as_dict(), found.lines)


def predict(
    study: StudyArgument,
    configurations: Annotated[
        list[str],
        typer.Argument(
            metavar="CONFIG...",
            help="recommended, default, 'trial 17' or name=value,... with all parameters.",
            show_default=False,
        ),
    ],
    given: GivenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Predict the values of configurations, all objectives, with 95 % credible intervals.

    In a study with given variables, --given has their values for all that have none of their own:
    recommended, default and name=value,...
    """
    with study_errors():
        from surefoot.tune.ask_tell.ask_tell import look_at_ask_tell

        found = look_at_ask_tell(study).predict(configurations, given_texts(given))
        answer(as_json, [one.as_dict for one in found], [one.line for one in found])


def serve(
    study: StudyArgument,
    mcp: Annotated[
        bool, typer.Option("--mcp", help="Speak the Model Context Protocol instead.")
    ] = False,
) -> None:
    """Answer requests on standard input, a JSON object on each line.

    \b
    {"verb": "ask", "count": 3}
    {"verb": "ask", "given": {"load": 120}}
    {"verb": "tell", "id": 7, "value": 12.5, "sem": 0.4, "values": {"p99": 18.3}, "worker": "a"}
    {"verb": "tell", "id": 8, "failed": "out of memory"}
    {"verb": "predict", "configurations": [{"threads": 8}]}
    {"verb": "predict", "configurations": ["recommended"], "given": {"load": 120}}
    {"verb": "recommend"}
    {"verb": "status"}
    {"verb": "forget", "ids": [9]}
    {"verb": "forget", "ids": [7], "measured": "the server was dead"}

    Each gets a line with a JSON object, {"error": ..., "code": ...} if it is refused, with the exit
    code that the command would have. Ends with its input.
    """
    with study_errors():
        opened = _opened(study)
        if mcp:
            from surefoot.tune.ask_tell.mcp_server import run_mcp

            run_mcp(opened)
        else:
            from surefoot.tune.ask_tell.verbs import serve_lines

            requests = typer.get_text_stream("stdin", "utf-8", "surrogateescape")
            serve_lines(opened, requests, typer.get_text_stream("stdout"))


def _opened(study: StudyArgument, *, create: bool = True) -> AskTell:
    from surefoot.tune.ask_tell.ask_tell import open_ask_tell

    return open_ask_tell(study, create=create)


def _split(given: list[str]) -> tuple[str | None, dict[str, str]]:
    """The value, and the other numbers by name, in `12.5 p99=18.3` or `12.5 --p99 18.3`."""
    left, values, plain = list(given), {}, []
    while left:
        word = left.pop(0)
        name, equals, number = word.removeprefix("--").partition("=")
        if not word.startswith("--") and not equals:
            plain.append(word)
            continue
        if not equals:
            if not left:
                raise InvalidInput(f"{word}: got nothing after it, expected a number")
            number = left.pop(0)
        if name in values:
            raise InvalidInput(f"{name}: given twice, expected one value")
        values[name] = number
    if len(plain) > 1:
        raise InvalidInput(f"got {len(plain)} values ({' '.join(plain)}), expected one")
    return (plain[0] if plain else None), values

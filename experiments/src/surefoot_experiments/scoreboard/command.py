"""The commands `surefoot-experiments scoreboard run` and `environments`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surefoot_experiments.console import one_line_errors, progress

app = typer.Typer(
    no_args_is_help=True,
    help="Compare surefoot with its rivals on test suites that others made.",
)
_QUICK = ("surefoot", "random", "optuna-tpe")


@app.command("list")
def list_() -> None:
    """List the suites and the rivals."""
    from surefoot_experiments.scoreboard.catalogue import RIVALS, SUITES
    from surefoot_experiments.scoreboard.environments import build_line, python_of

    typer.echo(f"suites: {', '.join(SUITES)}\nrivals:")
    for one in RIVALS.values():
        missing = python_of(one.environment) is None
        typer.echo(f"  {one.name}" + (f": needs {build_line(one.environment)}" if missing else ""))


@app.command()
def run(
    suite: Annotated[str, typer.Argument(help="A suite of `list`.", show_default=False)],
    half: Annotated[
        str, typer.Option(help='development, confirmation, or "" for both.')
    ] = "development",
    rivals: Annotated[
        str, typer.Option(help="Names, separated by commas; all if empty. surefoot:LABEL too.")
    ] = "",
    seeds: Annotated[int, typer.Option(help="Seeds of each task.")] = 1,
    evaluations: Annotated[
        str, typer.Option(help="Numbers such as 60,100d; those of the suite if empty.")
    ] = "",
    dimensions: Annotated[str, typer.Option(help="Such as 2,5; all if empty.")] = "",
    kinds: Annotated[str, typer.Option(help="Such as gaussian,cauchy; all if empty.")] = "",
    tasks: Annotated[str, typer.Option(help="Such as f106,f118-d5; all if empty.")] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="Few tasks and rivals: a few minutes.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="Processes of one thread each.")] = 1,
    limit: Annotated[float, typer.Option(help="Seconds a request may take.")] = 600.0,
    known: Annotated[
        Path | None,
        typer.Option(help="Folder of results, whose runs of other methods are not made again."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("scoreboard"),
) -> None:
    """Run what is missing in a folder, print the table, and write the page.

    Finished runs are kept, so that an interrupted run continues. surefoot is run again when its
    source files have changed; `surefoot:LABEL` keeps the runs of one state under a name, so that
    several can be compared. OUT/SUITE holds the page, its tables and the performance profiles.
    """
    with one_line_errors():
        from surefoot_experiments.scoreboard import page
        from surefoot_experiments.scoreboard.board import Selection, run
        from surefoot_experiments.scoreboard.catalogue import RIVALS

        selection = Selection(
            suite=suite,
            half=half,
            rivals=_words(rivals) or (_QUICK if quick else tuple(RIVALS)),
            seeds=seeds,
            evaluations=_words(evaluations) or (("20",) if quick else ()),
            dimensions=_numbers("--dimensions", dimensions) or ([2] if quick else []),
            kinds=_words(kinds),
            names=_words(tasks),
        )
        with progress(suite) as notify:
            tables = run(
                selection, out, jobs, limit, lambda line: typer.echo(line, err=True), notify, known
            )
        written = page.write_page(tables, out / suite)
        typer.echo(page.text(tables))
        typer.echo(f"wrote {written}")


@app.command()
def environments(
    names: Annotated[
        list[str] | None, typer.Argument(help="All if none is given.", show_default=False)
    ] = None,
    into: Annotated[Path, typer.Option(help="Folder of the environments.")] = Path("environments"),
    constraints: Annotated[
        Path | None, typer.Option(help="A constraints file of pip.", show_default=False)
    ] = None,
) -> None:
    """Build the environments of rivals that do not fit into this one."""
    with one_line_errors():
        from surefoot_experiments.scoreboard.environments import ENVIRONMENTS, FOLDER, build

        built = [build(name, into, constraints, typer.echo) for name in names or ENVIRONMENTS]
        typer.echo(f"set {FOLDER}={into.resolve()} to use them")
    if not all(built):
        raise typer.Exit(1)


def _numbers(option: str, text: str) -> list[int]:
    from surefoot import InvalidInput

    try:
        return [int(word) for word in _words(text)]
    except ValueError:
        raise InvalidInput(f"{option} is {text!r}, expected whole numbers such as 2,5.") from None


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())

"""The commands `surefoot-experiments answers run`, `show` and `rivals`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surefoot_experiments.console import one_line_errors

app = typer.Typer(
    no_args_is_help=True,
    help="The yardstick of each change: short tasks, paired with recorded results.",
)
HalfOption = Annotated[str, typer.Option(help="choose, confirm, or nothing for both.")]
JobsOption = Annotated[int, typer.Option(help="Processes of one thread each.")]
RecordsOption = Annotated[Path, typer.Option(help="Folder of the recorded results.")]
_RECORDS = Path("experiments/results/answers")


@app.command()
def run(
    half: HalfOption = "",
    jobs: JobsOption = 2,
    records: RecordsOption = _RECORDS,
    record: Annotated[
        bool, typer.Option("--record", help="Keep the results, for later states to be paired with.")
    ] = False,
) -> None:
    """Run surefoot on the tasks, and print its tables and the line of a commit message.

    Gaps are relative to random search's; log ratios are those of the relative gap to the recorded
    one, negative where this state is better. Choose by one half; the other is run once, to confirm.
    """
    with one_line_errors():
        from surefoot_experiments.answers.record import BASE, RIVALS, Record
        from surefoot_experiments.answers.runs import run_own
        from surefoot_experiments.answers.table import report

        kept = Record(records)
        rivals = kept.read(RIVALS)
        base = None if record else kept.read(BASE)
        say_missing_data()
        now, origin = run_own(half, jobs, say)
        if record:
            kept.add(BASE, now, origin)
        typer.echo(report(now, base, rivals))


@app.command()
def show(half: HalfOption = "", records: RecordsOption = _RECORDS) -> None:
    """Print the tables of the recorded state, without running anything."""
    with one_line_errors():
        from surefoot_experiments.answers.record import BASE, RIVALS, Record
        from surefoot_experiments.answers.table import report
        from surefoot_experiments.answers.tasks import halves_of

        kept = Record(records)
        recorded = {
            name: rows[rows["half"].isin(halves_of(half))] for name, rows in kept.read(BASE).items()
        }
        typer.echo(report(recorded, None, kept.read(RIVALS)))
        typer.echo("\n".join(f"{name}: {text}" for name, text in kept.origin().items()))


@app.command()
def rivals(
    names: Annotated[list[str], typer.Argument(help="Such as random optuna-tpe informed-gp.")],
    half: HalfOption = "",
    jobs: JobsOption = 2,
    records: RecordsOption = _RECORDS,
) -> None:
    """Run rivals on the tasks, and record their results with the date and their versions."""
    with one_line_errors():
        from surefoot_experiments.answers.record import RIVALS, Record
        from surefoot_experiments.answers.runs import run_rivals

        say_missing_data()
        tables, origin = run_rivals(names, half, jobs, say)
        Record(records).add(RIVALS, tables, origin)
        typer.echo(f"recorded {', '.join(names)} in {records}")


def say(text: str) -> None:
    """A line on standard error."""
    typer.echo(text, err=True)


def say_missing_data() -> None:
    """Name the tasks that are left out for want of data."""
    from surefoot_experiments.scoreboard.suites import cloud

    if cloud.folder() is None:
        say(f"without nginx and PostgreSQL: set {cloud.DATA} to the folder of their measurements")

"""The command `surefoot-experiments`: experiments, storms, live systems, scoreboard, yardstick.

What a command needs is imported within it, so that `--help` answers at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from surefoot_experiments.answers.command import app as answers
from surefoot_experiments.console import one_line_errors, progress
from surefoot_experiments.scoreboard.command import app as scoreboard

if TYPE_CHECKING:
    from surefoot_experiments.harness.experiment import Experiment
    from surefoot_experiments.harness.runner import Outcome, Plan
    from surefoot_experiments.recorded_data import Data


class Commands(TyperGroup):
    """Commands, of which an unknown one is answered in a line."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command, or an error that says what there is."""
        if args and args[0] not in self.commands:
            own = ctx.command_path
            typer.echo(
                f"no command {args[0]!r}; `{own} list` names the experiments, `{own} run NAME` "
                "runs one",
                err=True,
            )
            ctx.exit(2)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="surefoot-experiments",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Reproduce the papers' experiments, run our own, and run the benchmarks of surefoot.",
    epilog="Exit codes: 0 done; 1 ended by an error while running, with finished trials kept; "
    "2 wrong options or input, with nothing changed; 130 ended by Ctrl-C.",
)
app.add_typer(scoreboard, name="scoreboard")
app.add_typer(answers, name="answers")
_OUT = Path("reproduced")
OutOption = Annotated[Path, typer.Option(help="Folder of the results.")]


def main(arguments: Sequence[str] | None = None, name: str = "surefoot-experiments") -> None:
    """Run the command line; `surefoot reproduce` passes its own arguments and name."""
    app(args=None if arguments is None else list(arguments), prog_name=name)


@app.command("list")
def list_() -> None:
    """List every experiment and benchmark, with its paper, figure and published scale."""
    from surefoot_experiments.catalogue import GROUPS

    for group, experiments in GROUPS.items():
        typer.echo(f"{group}:")
        width = max(map(len, experiments))
        for one in experiments.values():
            typer.echo(
                f"  {one.name:<{width}}  {one.paper.split(',')[0]}, {one.figure}: {one.title} "
                f"({one.published.trials} x {one.published.rounds:,} rounds)"
            )


@app.command()
def run(
    name: Annotated[
        str, typer.Argument(help="A name of `list`, `all` or `benchmarks`.", show_default=False)
    ],
    quick: Annotated[bool, typer.Option("--quick", help="A small run of seconds.")] = False,
    trials: Annotated[int | None, typer.Option(help="Instead of the published number.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Instead of the published number.")] = None,
    jobs: Annotated[int, typer.Option(help="Processes of one thread each.")] = 1,
    out: OutOption = _OUT,
    data: Annotated[
        Path | None, typer.Option(help="A folder with the papers' data files.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run; keep finished results.")
    ] = False,
    backend: Annotated[
        str, typer.Option(help="Where trials run: loky, dask://HOST:PORT or ray://HOST:PORT.")
    ] = "loky",
) -> None:
    """Run an experiment, and compare its result with what the paper says.

    OUT/NAME holds the figure, its numbers, a manifest and a page; `all` runs every experiment and
    writes a gallery, OUT/index.html; `benchmarks` runs every benchmark. Finished trials are kept,
    so an interrupted run continues with --resume. The same seed gives the same numbers in any
    number of processes.
    """
    with one_line_errors():
        from surefoot_experiments.harness.runner import Plan

        plan = Plan(out, trials, rounds, jobs, data, seed, resume, quick, backend)
        _run(name, plan, typer.echo)


@app.command()
def gallery(
    out: OutOption = _OUT,
    markdown: Annotated[
        Path | None,
        typer.Option(help="Write the claims to this Markdown file too.", show_default=False),
    ] = None,
) -> None:
    """Write OUT/index.html, one page about all finished results."""
    with one_line_errors():
        from surefoot_experiments.catalogue import EXPERIMENTS
        from surefoot_experiments.harness.gallery import summary, write_gallery
        from surefoot_experiments.harness.store import write

        typer.echo(f"wrote {write_gallery(out, list(EXPERIMENTS), typer.echo)}")
        if markdown is not None:
            write(markdown, summary(out, list(EXPERIMENTS.values())).encode())
            typer.echo(f"wrote {markdown}")


@app.command()
def storm(
    name: Annotated[
        str,
        typer.Argument(
            help="kill, terminate, signals, terminal, workers, study-files, calls, events, "
            "saved-files, storages, foreign-values, optuna, hosts, confirm, compare, descendants, "
            "output, edited, users, versions, clocks or outages.",
            show_default=False,
        ),
    ],
    count: Annotated[
        int, typer.Option(help="Kills, parents, files, calls, sequences or studies.")
    ] = 20,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.")] = 0,
    workers: Annotated[int, typer.Option(help="Worker processes of a run.")] = 1,
    storage: Annotated[
        str, typer.Option(help="sqlite, journal or postgresql (a server is started).")
    ] = "sqlite",
    url: Annotated[
        str | None,
        typer.Option(help="URL of a database of your own, for hosts.", show_default=False),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the events and the table.")] = Path("storms"),
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue, or add a storm to the folder.")
    ] = False,
) -> None:
    """Try to break what surefoot promises, and count what fails.

    `kill` and `terminate` end runs by kill -9 and SIGTERM and resume them; `workers` kills the
    parent of workers that are starting; `study-files` reads malformed study files; `calls` passes
    wrong arguments; `events` looks at, saves and loads one of two copies of a run; `saved-files`
    and `storages` damage saved runs and the storages of studies, `foreign-values` changes what
    is in a storage; `optuna` kills workers of an
    Optuna study, and `hosts` runs of different machines on one server. `confirm` and `compare` end
    runs in their last stages; `descendants` leave processes that ignore signals; `output` prints
    gigabytes; `edited` changes study files in the middle; `users` have a umask and another account;
    `versions` changes what is stored; `clocks` are apart; `outages` stop or limit a PostgreSQL
    server. OUT/storms.md has the figures: orphaned processes, results lost or doubled, runs that
    differ, errors that are not surefoot's. Exit code 1 if there are any.
    """
    with one_line_errors():
        from surefoot_experiments.storms.storm import run_storm

        events = run_storm(
            name,
            out,
            count=count,
            seed=seed,
            workers=workers,
            storage=storage,
            url=url,
            resume=resume,
            say=typer.echo,
        )
    if not all(one.is_clean for one in events):
        raise typer.Exit(1)


@app.command()
def live(
    name: Annotated[str, typer.Argument(help="sqlite, postgresql or redis.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder of the studies and the page.")] = Path("live"),
    seed: Annotated[int, typer.Option(help="Seed of the searches and of the neighbour.")] = 0,
    rounds: Annotated[int, typer.Option(help="Measurements of each study.")] = 60,
    pairs: Annotated[int, typer.Option(help="Pairs of each comparison.")] = 30,
) -> None:
    """Tune a real system on this machine twice, beside a neighbour that comes and goes.

    One study repeats configurations and models drift, the other does not; their measurements take
    turns. `surefoot compare` then measures both recommendations against the defaults. OUT/page.md
    has the figures of all runs in the folder. Needs PostgreSQL or Redis installed. The
    same command continues an interrupted run.
    """
    with one_line_errors():
        from surefoot_experiments.live.page import write_page
        from surefoot_experiments.live.side_by_side import run_live

        run_live(name, out, seed=seed, rounds=rounds, pairs=pairs, say=typer.echo)
        typer.echo(write_page(out).rstrip())


def _run(name: str, plan: Plan, say: Callable[[str], None]) -> None:
    from surefoot_experiments.catalogue import GROUPS, find
    from surefoot_experiments.harness.gallery import write_gallery
    from surefoot_experiments.harness.runner import check, run

    chosen = list(GROUPS[name].values()) if name in GROUPS else [find(name)]
    if name in GROUPS and plan.data is None:
        for one in (each for each in chosen if each.needs_data):
            say(f"{one.name}: skipped, since no package ships its data: pass --data FOLDER")
        chosen = [one for one in chosen if not one.needs_data]
    # Before the first one runs: a missing file or a foreign folder is said now, not hours later.
    data = _loaded(chosen, plan.data)
    for experiment in chosen:
        check(experiment, plan, data[experiment.name])
    for experiment in chosen:
        recorded = data[experiment.name]
        if recorded is not None and recorded.line:
            say(f"{experiment.name}: {recorded.line}")
        with progress(experiment.name) as notify:
            outcome = run(experiment, plan, recorded, notify)
        say(_result_line(experiment, plan, outcome))
    if name == "all":
        say(f"wrote {write_gallery(plan.out, list(GROUPS[name]), say)}")


def _loaded(chosen: list[Experiment], folder: Path | None) -> Mapping[str, Data | None]:
    """The data of each experiment; every data set is read once."""
    read = {load: load(folder) for load in dict.fromkeys(each.load for each in chosen) if load}
    return {one.name: read[one.load] if one.load else None for one in chosen}


def _result_line(experiment: Experiment, plan: Plan, outcome: Outcome) -> str:
    from surefoot_experiments.harness.trial import count

    how = f"took {outcome.seconds:.0f} s"
    if outcome.kept:
        more = outcome.trials > plan.scale(experiment).trials
        how = "was complete already" + f", with {outcome.trials} trials" * more
    claims = f"{count(outcome.checks)}; " if outcome.checks else ""
    return f"{experiment.name}: {claims}{how}; {outcome.folder / 'page.md'}"

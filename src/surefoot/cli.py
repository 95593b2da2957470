"""The command line: `surefoot tune` and the other commands.

Each command imports what it needs, so that `surefoot --help` answers at once.
"""

from __future__ import annotations

import json
import shlex
from functools import partial
from importlib.metadata import entry_points
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated

from surefoot._internal.extras import extra

with extra("tune"):
    import typer

    from surefoot._commands import ask_tell
    from surefoot._commands.terminal import (
        GivenOption,
        StudyArgument,
        answer,
        given_texts,
        one_line_errors,
        probability,
        study_errors,
        whole,
    )
    from surefoot._commands.terminal import say as _say
    from surefoot.cli_words import GuessedWords
    from surefoot.tune.plain_text import DISCARDED, INTERRUPTED, INVALID, STOPPED
    from surefoot.types import InvalidInput

_NO_EXPERIMENTS = (
    "the experiments are a separate package: install surefoot-experiments first, in a checkout by "
    "pip install ./experiments"
)

app = typer.Typer(
    name="surefoot",
    cls=GuessedWords,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""Optimise the configuration of a system with noisy, heavy-tailed measurements.

Write a study file (what to run, which parameters, how many rounds) and run `surefoot tune`;
`surefoot recommend` and `surefoot report` show the results at any time.""",
    epilog="""Exit codes: 0 success; 1 `tune` ended without a measurement, or stopped before the end
(five failures in a row, a failed setup or teardown, or a storage that fails), with all measurements
kept; 2 invalid study file, options or input, with nothing created or changed, or a storage that is
damaged, read-only or not there; 129 stopped as the terminal closed, 130
by Ctrl-C, 143 by SIGTERM, with all measurements kept.""",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"surefoot {installed_version('surefoot')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


@app.command()
def tune(
    study: StudyArgument,
    rounds: Annotated[
        int | None,
        whole(
            1,
            "Stop at this many finished trials, earlier ones included. Overrides `rounds` of the "
            "study file, for this run only.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        whole(
            1,
            "Configurations to measure at the same time, at most 256; by default 1.",
            most=256,
            show_default=False,
        ),
    ] = None,
    executor: Annotated[
        str,
        typer.Option(
            metavar="MODULE:NAME",
            help="Measure by the concurrent.futures.Executor that this function beside the study "
            "file returns, such as that of a cluster.",
            show_default=False,
        ),
    ] = "",
    given: GivenOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress, only errors.")] = False,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append a line of JSON for each event to this file."),
    ] = None,
) -> None:
    """Measure configurations; resume a stopped study.

    Runs until the study has as many finished trials as `rounds`, failed ones included. Every trial
    is stored before the next begins. Ctrl-C stops after the running trial (press it
    twice to stop at once), and the same command resumes later, also after a crash or kill -9.
    """
    with study_errors():
        from surefoot.tune import run
        from surefoot.tune.display import rounds_text

        outcome = run(
            study,
            rounds=rounds,
            workers=workers,
            executor=executor,
            quiet=quiet,
            log=log,
            given=given_texts(given),
        )
        summary = outcome.summary
        if not quiet:
            typer.echo(f"{rounds_text(summary.trials, outcome.rounds, summary.failed)}.")
            for line in summary.lines():
                _say(line)
        if outcome.stopped:
            raise typer.Exit(INTERRUPTED)
        if summary.failed == summary.trials:
            _say(f"{study}: no round has a measurement", err=True)
            raise typer.Exit(STOPPED)


@app.command()
def check(
    study: StudyArgument,
    config: Annotated[
        str | None,
        typer.Option(
            metavar="CONFIG",
            help="The configuration: default, recommended, 'trial 17' or name=value,... with all "
            "parameters. By default the study file's defaults, or the first of a new study.",
            show_default=False,
        ),
    ] = None,
    given: GivenOption = None,
    repeat: Annotated[
        int, typer.Option(min=1, max=1000, help="Measure so often: how large is the noise?")
    ] = 1,
) -> None:
    """Measure the defaults and show what is read from the output.

    Nothing is recorded. Runs `setup` and `teardown`, too. With `--repeat 5` it says how large the
    noise is, and which difference `compare` would find.
    """
    with study_errors():
        from surefoot.tune.check import check as check_once
        from surefoot.tune.measuring.measurement import Failure

        values = given_texts(given)
        checked = check_once(study, config, lambda text: _say(text, err=True), values, repeat)
        _say("\n".join(checked.lines()))
        if checked.stopped or isinstance(checked.result, Failure):
            raise typer.Exit(INTERRUPTED if checked.stopped else STOPPED)


@app.command()
def recommend(
    study: StudyArgument,
    given: GivenOption = None,
    prefer: Annotated[
        list[str] | None,
        typer.Option(
            "--prefer",
            metavar="LIMIT",
            help="A limit of one of several objectives, such as 'latency<=20' or "
            "'latency<=20ms'; may be repeated.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the best configuration and its value.

    The recommended configuration has the best posterior mean. The value is the model's prediction,
    not the best measurement, with a 95 % credible interval. It is the location of the fitted noise:
    mean and median of measurements if the noise is symmetric. `estimand` in [objective] chooses the
    mean or the median.

    In a study with given variables it is the best under their values; without --given, the best
    under several values of each, as a table (with --json, a list of what `surefoot predict --json`
    prints).

    Of several objectives it is the best point of the front that keeps the limits of --prefer with a
    probability of 0.95, by default a compromise between the objectives; the front follows.

    \b
    With --json, the keys are
      params               the configuration
      value, lower, upper  its predicted value and interval (null before there
                           are two measurements); of the risk, in a study with
                           an environment
      estimand             what they are of the measurements there: location (of
                           the fitted noise), median or mean
      trials, failed       number of finished trials, and of failed ones
      defaults             the comparison with the defaults, if there are any, and
                           the constraints that these do not satisfy (doubtful)
      feasible             whether all constraints hold with their confidence
      feasibility          how probable that is; null before each has a measurement
      unmeasured           the constraints that have no measurement yet
      constraints          the prediction for each constraint; none in a study
                           with an environment, where feasibility is over it
      statements           what is known beside the model: of the median by the
                           confirm stage, and what is proved by [assume]
      warnings             what in the measurements contradicts the model
      effects              what worker and time were found to change
      failures             the first failure, and what failures share
      risk                 what the value means, in a study with an environment
      objectives, front    the prediction of each of several objectives, and the
                           points of the front
    """
    with one_line_errors():
        from surefoot.tune import open_study, summarise
        from surefoot.tune.ask_tell.answers import recommendation_as_dict
        from surefoot.tune.comparison.compare import measured_verdict
        from surefoot.tune.comparison.named_settings import given_values
        from surefoot.tune.study.best_by_given import best_by_given, by_given_lines
        from surefoot.tune.study.front_text import preferences

        opened, texts = open_study(study), given_texts(given)
        if opened.study_file.scheme.given and not texts:
            found = best_by_given(state := opened.state())
            each = [recommendation_as_dict(one) for one in found]
            answer(as_json, each, by_given_lines(state, found))
            return
        limits = preferences(opened.state().study_file, prefer) if prefer else {}
        summary = summarise(opened, given_values(opened.study_file, texts), limits)
        if as_json:
            typer.echo(json.dumps(summary.as_dict()))
            return
        best = summary.state.recommendation  # or why there is none
        _say("\n".join(summary.lines(measured_verdict(summary.state.study_file, best.params))))
        typer.echo(
            f"From {summary.trials} trial{'s' * (summary.trials != 1)}, {summary.failed} of them "
            "failed."
        )


@app.command()
def compare(
    study: StudyArgument,
    a: Annotated[
        str | None,
        typer.Option(
            "--a",
            "--against",
            metavar="CONFIG",
            help="The configuration to compare with: default, recommended, 'trial 17' or "
            "name=value,... with all parameters. By default the study file's defaults, or trial 0 "
            "where there are none.",
        ),
    ] = None,
    b: Annotated[
        str, typer.Option("--b", metavar="CONFIG", help="The configuration that may be better.")
    ] = "recommended",
    runs: Annotated[
        int, whole(1, "Runs of each configuration, at most; earlier ones included.")
    ] = 40,
    slices: Annotated[
        int,
        whole(
            1,
            "Cut each run into so many, of the samples that it prints one by one, each in a pair "
            "of its own.",
        ),
    ] = 1,
    confidence: Annotated[
        float,
        probability(
            "One minus the probability that a difference is found between equal configurations."
        ),
    ] = 0.95,
    all_runs: Annotated[
        bool, typer.Option("--all", help="Go on after the decision, for a narrower interval.")
    ] = False,
    new: Annotated[bool, typer.Option("--new", help="Begin anew instead of continuing.")] = False,
    aa: Annotated[
        bool, typer.Option("--aa", help="Allow A and B to be the same, to check the measurement.")
    ] = False,
    given: GivenOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and no progress.")] = False,
) -> None:
    """Measure two configurations: which is better?

    They are measured in pairs, in random order, until one is better. The error rate holds for any
    noise and drift, and at any number of pairs. The runs are kept in NAME.compare.jsonl beside the
    study file, and the same command continues after an interruption. In a study with an
    environment, both runs of a pair have the same environment, and typical runs are compared, not
    the risk. In a study with given variables, --given has their values for each that has none of
    its own: default, recommended and name=value,...
    """
    with study_errors():
        from surefoot.tune import compare as compare_settings

        result = compare_settings(
            study,
            a,
            b,
            runs=runs,
            slices=slices,
            confidence=confidence,
            all_runs=all_runs,
            new=new,
            aa=aa,
            quiet=as_json,
            given=given_texts(given),
        )
        answer(as_json, result.as_dict(), result.lines())
        if result.stopped:
            raise typer.Exit(INTERRUPTED)


@app.command()
def report(
    study: StudyArgument,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The .html file to write; an .md file has its head, a .json file is for programs.",
        ),
    ] = Path("report.html"),
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Rewrite it whenever a trial has ended, until the study has all its rounds; the "
            "page reloads itself.",
        ),
    ] = False,
) -> None:
    """Write a report as one HTML page."""
    with one_line_errors():
        from surefoot.tune.report import watched, write_report

        if not watch:
            write_report(study, output)
            _say(f"wrote {output}")
            return
        for state in watched(study, output):
            _say(f"wrote {output} after {state.finished} rounds")


@app.command()
def plot(
    study: StudyArgument,
    figure: Annotated[
        str,
        typer.Argument(
            metavar="FIGURE",
            help="One of the figures below.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            "--out",
            metavar="FILE",
            help="The .html, .png, .svg or .pdf file to write; all but .html need "
            "`surefoot[plot]` and Chrome.",
        ),
    ] = Path("figure.html"),
) -> None:
    """Write one figure of the report.

    \b
    convergence   the recommended value over time
    measurements  every measurement
    slices        the model along each parameter
    limits        each limited quantity by trial and along parameters
    pairs         the runs of `surefoot compare`
    front         the Pareto front of several objectives
    parallel      all configurations in parallel coordinates
    tails         quantiles of the residuals
    effects       the recommended configuration over time, under a drift
    """
    with one_line_errors():
        from surefoot import plot as plots
        from surefoot.tune.report.figure_file import check_figure_file, write_figure

        check_figure_file(output)
        write_figure(plots.study(study).named(figure), output)
        _say(f"wrote {output}")


@app.command()
def export(
    study: StudyArgument,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="A .csv or .parquet file, or - for CSV on standard output.",
            show_default=False,
        ),
    ],
) -> None:
    """Write the trials as a table, one row each."""
    with one_line_errors():
        from surefoot.tune import export as write_table
        from surefoot.tune import open_study
        from surefoot.tune.study.tables import STANDARD_OUTPUT, check_export

        check_export(output)
        count = write_table(open_study(study), output)
        if str(output) != STANDARD_OUTPUT:
            _say(f"wrote {count} trials to {output}")


@app.command(name="import")
def import_(
    study: StudyArgument,
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="A CSV or Parquet file, or the storage of another study.",
            show_default=False,
        ),
    ],
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--given",
            metavar="NAME=VALUE",
            help="Value of a variable of [environment] or [fidelity] under which another study, "
            "which did not have it, was measured; once for each.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Add the measurements of a table (CSV, Parquet), or of another study.

    The study is created if it does not exist. The table has one column for each parameter, named
    like it, and `value`; a row without a value is a failure. Optional columns: `failure` (the
    reason), `sem` (standard error), `worker`, `time` or `start` (when it began), `seconds` (how
    long it took), `state` (complete, fail; others are left out), one for each constraint, and
    `unit_COLUMN`; numbers without a unit are in that of the study. A table of Optuna's
    `trials_dataframe` will do. Rows that are trials of the study already are not added again.

    Instead of a table, an SQLite file or a journal of Optuna, such as the study's own from before
    its parameters were changed: a parameter that is new there has its default in all earlier
    measurements, a variable the value of --given, and those outside the present ranges are left
    out. Parameters and measurements are converted to the units of the study.
    """
    with study_errors():
        from surefoot.tune import import_table
        from surefoot.tune.study.stored_file import is_storage
        from surefoot.tune.study.study_import import import_study

        texts, is_study = given_texts(given), is_storage(table)
        if texts and not is_study:
            raise typer.BadParameter(
                f"--given: got a value of {next(iter(texts))} with a table, expected a column of it"
            )
        add = partial(import_study, given=texts) if is_study else import_table
        done = add(study, table, lambda text: _say(text, err=True))
        many = "trial" if done.trials == 1 else "trials"
        failed = f", {done.failed} of them failed" if done.failed else ""
        left = f"; there already: {done.present}" if done.present else ""
        left += f"; not finished: {done.skipped}" if done.skipped else ""
        left += f"; outside the ranges: {done.outside}" if done.outside else ""
        _say(f"imported {done.trials} {many}{failed}{left}")
        if done.ignored:
            _say(f"not used: {', '.join(done.ignored)}")


@app.command()
def diagnose(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A CSV file with measurements.", show_default=False),
    ],
    column: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Name of the column, or its position from 1; by default the column y or value, or "
            "the only one that contains numbers.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Estimate how heavy the tails of the noise are.

    The file has repeated measurements of one configuration. Suggests an algorithm for them.
    """
    with one_line_errors():
        from surefoot.tails import diagnose as diagnose_values
        from surefoot.tune.study.tables import (
            read_column,
            several_configurations,
            varying_parameters,
        )

        measured, varying = read_column(file, column), varying_parameters(file)
        diagnosis = diagnose_values(measured.values, f"{file}, column {measured.name!r},")
        if as_json:
            warnings = [several_configurations(varying)] if varying else []
            content = {"column": measured.name, "skipped": measured.skipped, "warnings": warnings}
            typer.echo(json.dumps({**content, **diagnosis.as_dict()}))
            return
        if varying:
            _say(f"Warning: {several_configurations(varying)}.", err=True)
        skipped = f" ({measured.skipped} empty cells skipped)" if measured.skipped else ""
        _say(f"{file}, column {measured.name!r}{skipped}")
        typer.echo(str(diagnosis))


@app.command(context_settings={"allow_interspersed_args": False})
def reproduce(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COMMAND",
            help="`list`, `run NAME` or `gallery`, with options.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Reproduce the papers' experiments.

    Needs the package `surefoot-experiments`. `surefoot reproduce list` names the experiments, and
    `surefoot reproduce run NAME --help` shows the options.
    """
    found = list(entry_points(group="surefoot.commands", name="reproduce"))
    if not found:
        typer.echo(_NO_EXPERIMENTS, err=True)
        raise typer.Exit(INVALID)
    found[0].load()(arguments or ["--help"], "surefoot reproduce")


ask_tell.add_to(app)


@app.command()
def init(
    command: Annotated[
        str,
        typer.Argument(
            metavar="COMMAND",
            help="The command line to measure with, quoted, with {name:low..high} or {name:a,b,c} "
            "for each parameter.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The study file to write, by default PROGRAM.toml.",
            show_default=False,
        ),
    ] = None,
    maximize: Annotated[
        bool, typer.Option("--maximize", help="Larger measurements are better.")
    ] = False,
) -> None:
    """Write a study file for a command line.

    \b
    surefoot init "nginx-bench --workers {workers:1..16} --buffer {buffer:1k..1m}"

    Whole numbers are integers, wide ranges are searched on a log scale, and a suffix such as k
    stays with the value. An existing file is left as it is.
    """
    with one_line_errors():
        from surefoot.tune.definition.command_template import shell_note
        from surefoot.tune.definition.new_study import new_study
        from surefoot.tune.output_file import check_output, output_file

        name, text = new_study(command, maximize)
        path = output or Path(f"{name}.toml")
        if path.is_symlink() or path.exists():
            raise InvalidInput(f"{path}: exists, expected a new file; use -o FILE")
        check_output(path)
        with output_file(path) as partial:
            partial.write_text(text, encoding="utf-8")
        if note := shell_note(command):
            _say(f"Warning: {note}", err=True)
        word = shlex.quote(str(path))
        _say(f"wrote {path}; `surefoot check {word}` measures once, `surefoot tune {word}` begins")


@app.command()
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
    the session, nor a run depend on the one before. After an interruption the same command goes on.
    """
    with one_line_errors():
        from surefoot.tune.judging.judge import KEEP
        from surefoot.tune.judging.judge import judge as decide

        rules: dict[str, object] = {"direction": "maximize"} if maximize else {}
        given = {"proposals": proposals, "error": error, "pool": runs, "most": runs}
        rules |= {name: one for name, one in given.items() if one is not None}
        result = decide(
            session, incumbent, proposal, (lambda line: None) if quiet else _say, **rules
        )
        _say(result.line)
    if result.decision != KEEP:
        raise typer.Exit(DISCARDED)

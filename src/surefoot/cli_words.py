"""Words that people try on the command line, and the ones to use instead."""

from __future__ import annotations

from typing import Any

from surefoot._internal.extras import extra

with extra("tune"):
    import typer
    from typer.core import TyperGroup

COMMANDS = {
    "best": "surefoot recommend STUDY",
    "show": "surefoot recommend STUDY",
    "result": "surefoot recommend STUDY",
    "results": "surefoot recommend STUDY",
    "plot": "surefoot report STUDY",
    "dashboard": "surefoot report STUDY",
    "html": "surefoot report STUDY",
    "run": "surefoot tune STUDY",
    "start": "surefoot tune STUDY",
    "resume": "surefoot tune STUDY, which resumes",
    "optimize": "surefoot tune STUDY",
    "optimise": "surefoot tune STUDY",
    "stop": "Ctrl-C in the terminal of `surefoot tune`, or `kill` and its process id",
    "trials": "surefoot export STUDY -o trials.csv",
    "table": "surefoot export STUDY -o trials.csv",
    "csv": "surefoot export STUDY -o trials.csv",
    "test": "surefoot check STUDY",
    "validate": "surefoot check STUDY",
    "new": 'surefoot init "COMMAND {name:low..high}"',
    "create": 'surefoot init "COMMAND {name:low..high}"',
}
OPTIONS = {
    **dict.fromkeys(("--n-trials", "--trials", "--n_trials", "--max-trials", "-n"), "--rounds N"),
    "--iterations": "--rounds N",
    "--budget": "`budget = '2h'` in [study]",
    **dict.fromkeys(("--n-jobs", "--n_jobs", "--jobs", "-j", "-w"), "--workers N"),
    **dict.fromkeys(("--parallel", "--processes", "--threads"), "--workers N"),
    "--seed": "`seed = N` in [study]",
    "--timeout": "`timeout = SECONDS` in [objective]",
    "--storage": "`storage = 'URL'` in [study]",
    "--name": "`name = 'NAME'` in [study]",
    "--direction": "`direction` in [study]",
    "--dry-run": "`surefoot check STUDY`",
    "--json": "`surefoot recommend STUDY --json`",
    "-q": "--quiet",
    "--silent": "--quiet",
    "--out": "-o FILE",
    "--file": "-o FILE",
    "--format": "-o FILE.csv or -o FILE.parquet",
}


class GuessedWords(TyperGroup):
    """A group of commands that answers a word of another tool by its own."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command, that of `help COMMAND`, or an error with the word to use."""
        word = args[0] if args else ""
        if word == "help" and len(args) > 1:
            return super().resolve_command(ctx, [args[1], "--help"])
        if word == "help":
            typer.echo(ctx.get_help())
            ctx.exit()
        if (use := COMMANDS.get(word)) is not None:
            ctx.fail(f"no command '{word}'; use {use}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an unknown option is answered by the word to use."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            given = getattr(error, "option_name", None)
            if given is None or (use := OPTIONS.get(str(given).partition("=")[0])) is None:
                raise
            return ctx.fail(f"no option {given}; use {use}")

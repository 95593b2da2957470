"""Words that people try on the command line, and the ones to use instead."""

from __future__ import annotations

from typing import Any

from surefoot._internal.extras import extra

with extra("tune"):
    import typer
    from typer.core import TyperGroup

_STUDY = "the study file without an option, `surefoot COMMAND STUDY`"
COMMANDS = {
    "best": "surefoot recommend STUDY",
    "show": "surefoot recommend STUDY",
    "result": "surefoot recommend STUDY",
    "results": "surefoot recommend STUDY",
    **dict.fromkeys(("summary", "describe"), "surefoot recommend STUDY"),
    **dict.fromkeys(("dashboard", "html", "view", "web", "ui"), "surefoot report STUDY"),
    "watch": "surefoot report STUDY --watch",
    **dict.fromkeys(("run", "start", "optimize", "optimise"), "surefoot tune STUDY"),
    **dict.fromkeys(("resume", "continue", "restart"), "surefoot tune STUDY, which resumes"),
    **dict.fromkeys(
        ("stop", "cancel", "kill", "pause"),
        "Ctrl-C in the terminal of `surefoot tune`, or `kill` and its process id",
    ),
    **dict.fromkeys(
        ("trials", "table", "csv", "list", "ls", "history", "log", "logs"),
        "surefoot export STUDY -o trials.csv",
    ),
    **dict.fromkeys(("test", "validate", "measure", "evaluate"), "surefoot check STUDY"),
    **dict.fromkeys(("suggest", "next"), "surefoot ask STUDY"),
    **dict.fromkeys(("observe", "record", "report-value"), "surefoot tell STUDY ID VALUE"),
    **dict.fromkeys(("add", "load"), "surefoot import STUDY TABLE"),
    **dict.fromkeys(("info", "progress"), "surefoot status STUDY"),
    **dict.fromkeys(("diff", "ab", "versus"), "surefoot compare STUDY --a CONFIG --b CONFIG"),
    **dict.fromkeys(
        ("delete", "reset", "clean", "remove"),
        "another study.name, or delete the storage, NAME.db beside the study file",
    ),
    "version": "surefoot --version",
    "new": 'surefoot init "COMMAND {name:low..high}"',
    "create": 'surefoot init "COMMAND {name:low..high}"',
}
# For an option of another tool, what may be used: the first that the command has, or that is none.
OPTIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("--n-trials", "--trials", "--n_trials", "--max-trials"), ("--rounds N",)),
    **dict.fromkeys(("--iterations", "-n"), ("--rounds N",)),
    **dict.fromkeys(("--n", "--number", "--count", "--batch"), ("-n N", "--rounds N")),
    "--budget": ("`budget = '2h'` in [study]",),
    **dict.fromkeys(("-j",), ("--workers N", "--json")),
    **dict.fromkeys(("--n-jobs", "--n_jobs", "--jobs", "-w"), ("--workers N",)),
    **dict.fromkeys(("--parallel", "--processes", "--threads"), ("--workers N",)),
    "--seed": ("`seed = N` in [study]",),
    "--timeout": ("`timeout = SECONDS` in [objective]",),
    "--storage": ("`storage = 'URL'` in [study]",),
    **dict.fromkeys(("--name", "--study-name"), ("`name = 'NAME'` in [study]",)),
    "--direction": ("`direction` in [study]",),
    "--minimize": ('`direction = "minimize"` in [study], which is what init writes',),
    "--dry-run": ("`surefoot check STUDY`",),
    "--json": ("`surefoot recommend STUDY --json`",),
    **dict.fromkeys(("-q", "--silent", "--no-progress"), ("--quiet",)),
    **dict.fromkeys(
        ("--resume", "--continue", "--load-if-exists", "--skip-if-exists"),
        ("the same command without it, which resumes",),
    ),
    **dict.fromkeys(("-v", "--verbose", "--log-level", "--debug"), ("--log FILE", "--json")),
    **dict.fromkeys(("--repeat", "--repeats", "--samples"), ("--runs N", "`[repeats]`")),
    "--sampler": ("a sampler of Optuna from Python, `surefoot.tune.run(STUDY, sampler=...)`",),
    **dict.fromkeys(("--out", "--csv", "--output"), ("-o FILE", "`surefoot export STUDY -o FILE`")),
    **dict.fromkeys(("--study", "--config", "--file", "-f", "-c"), ("-o FILE", _STUDY)),
    "--format": ("-o FILE, whose ending is the format (see -h)", "--json"),
}


GROUPS = {
    "Tune": ("init", "check", "tune", "recommend", "compare", "report", "plot"),
    "Measure by other means": ("ask", "tell", "forget", "status", "predict", "serve", "judge"),
    "Exchange": ("import", "export"),
    "Research": ("diagnose", "reproduce"),
}


class GuessedWords(TyperGroup):
    """A group of commands that answers a word of another tool by its own."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands in the help, by what they are for."""
        for title, names in GROUPS.items():
            width = formatter.width - 6 - max(map(len, self.commands))
            rows = [(name, self.commands[name].get_short_help_str(width)) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command, that of `help COMMAND`, or an error with the word to use."""
        word = args[0] if args else ""
        if word == "help" and len(args) > 1:
            return super().resolve_command(ctx, [args[1], "--help"])
        if word == "help":
            typer.echo(ctx.get_help())
            ctx.exit()
        use = f"surefoot tune {word}" if word.endswith(".toml") else COMMANDS.get(word)
        if use is not None:
            ctx.fail(f"no command '{word}'; use {use}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; wrong usage is answered in one line, as programs read all other errors.

        An unknown option is answered by the word to use.
        """
        try:
            return self._invoke(ctx)
        except Exception as error:
            inner = getattr(error, "ctx", None)
            if inner is None or not hasattr(error, "format_message"):
                raise
            text = " ".join(error.format_message().split()).rstrip(".")
            try:
                inner.fail(f"{text}; see `{inner.command_path} -h`")
            except Exception as wrong:
                wrong.ctx = None  # type: ignore[attr-defined]  # shown as one line, without usage
                raise wrong from None

    def _invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            given = str(getattr(error, "option_name", "")).partition("=")[0]
            inner = getattr(error, "ctx", None) or ctx
            use = next((one for one in OPTIONS.get(given, ()) if _has(inner.command, one)), None)
            if given and inner.info_name == "init":
                use = (
                    "quotes around the whole command, surefoot init 'COMMAND --option {name:1..16}'"
                )
            if use is None:
                raise
            return inner.fail(f"no option {given}; use {use}")


def _has(command: Any, use: str) -> bool:
    """Whether a command has an option that is to be used; true of what is no option."""
    names = [name for one in command.params for name in one.opts]
    return not use.startswith("-") or use.split()[0] in names

"""`surefoot init`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from surefoot._commands.terminal import one_line_errors, say
from surefoot.types import InvalidInput


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(init)


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

        name, text = new_study(command, maximize)
        path = output or Path(f"{name}.toml")
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            raise InvalidInput(f"{path}: exists, expected a new file; use -o FILE") from None
        except OSError as error:
            raise InvalidInput(f"{path}: cannot be written: {error.strerror}") from None
        if note := shell_note(command):
            say(f"Warning: {note}", err=True)
        word = shlex.quote(str(path))
        say(f"wrote {path}; `surefoot check {word}` measures once, `surefoot tune {word}` begins")

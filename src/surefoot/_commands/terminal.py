"""Arguments, output and errors that the commands have in common."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

from surefoot._internal.extras import extra

with extra("tune"):
    import typer

    from surefoot.tune.plain_text import (
        INTERRUPTED,
        STOPPED,
        error_line,
        exit_code,
        printable,
        shown,
    )
    from surefoot.tune.system import forget_full_output
    from surefoot.types import SurefootError

StudyArgument = Annotated[
    Path, typer.Argument(metavar="STUDY", help="The study file, in TOML.", show_default=False)
]

GivenOption = Annotated[
    list[str] | None,
    typer.Option(
        "--given",
        metavar="NAME=VALUE",
        help='Value of a variable that is known before the choice (environment.control = "given"); '
        "once for each.",
        show_default=False,
    ),
]


def given_texts(options: list[str] | None) -> dict[str, str]:
    """The texts of `--given NAME=VALUE` options, by name."""
    found: dict[str, str] = {}
    for one in options or ():
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"--given: got {one}, expected NAME=VALUE, as load=120")
        if name.strip() in found:
            raise typer.BadParameter(f"--given: got two values of {name.strip()}, expected one")
        found[name.strip()] = value.strip()
    return found


def whole(least: int, help: str, *names: str, most: int | None = None, **given: Any) -> Any:
    """An option with a whole number in a range."""
    return typer.Option(*names, parser=integer(least, most), metavar="INTEGER", help=help, **given)


def probability(help: str) -> Any:
    """An option with a number between 0 and 1."""
    return typer.Option(parser=confidence, metavar="NUMBER", help=help)


def integer(least: int, most: int | None = None) -> Callable[[str | int], int]:
    """Read an integer in a range, from an option."""
    wanted = f"of at least {least}" if most is None else f"from {least} to {most}"

    def read(text: str | int) -> int:  # a default is a number
        # Not by `int` alone, for which 1_0 is 10.
        number = int(text) if re.fullmatch("[-+]?[0-9]{1,4000}", str(text)) else least - 1
        if number > sys.maxsize:
            raise typer.BadParameter(f"got {shown(number)}, expected an integer below 2^63")
        if number < least or (most is not None and number > most):
            raise typer.BadParameter(f"got {text}, expected an integer {wanted}")
        return number

    return read


def confidence(text: str | float) -> float:
    """Read a probability, from an option."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < 1:
        raise typer.BadParameter(f"got {text}, expected a number between 0 and 1, such as 0.95")
    return number


@contextlib.contextmanager
def study_errors() -> Iterator[None]:
    """`one_line_errors` of what uses a study, about which Optuna says nothing but warnings."""
    with one_line_errors():
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        yield


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """Errors of surefoot, with an exit code, and warnings are a line each on standard error."""
    try:
        with warnings.catch_warnings():
            once = functools.cache(say)  # what is formed anew for each figure warns each time
            warnings.showwarning = lambda message, *_, **__: once(
                f"Warning: {' '.join(str(message).split())}", err=True
            )
            yield
    except SurefootError as error:
        typer.echo(error_line(error), err=True)
        raise typer.Exit(exit_code(error)) from None
    except OSError as error:
        if not (full := forget_full_output(error)):
            raise
        with contextlib.suppress(OSError):
            typer.echo(full, err=True)
        raise typer.Exit(STOPPED) from None
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None


def say(text: str, err: bool = False) -> None:
    """Print text from outside, without control characters that a terminal would obey."""
    typer.echo(printable(text), err=err)


def answer(as_json: bool, values: Any, lines: Iterable[str]) -> None:
    """Print the answer of a command, as JSON or in lines."""
    say(json.dumps(values) if as_json else "\n".join(lines))

"""What the commands have in common: a progress bar, and errors of one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error, advanced by calls with the trials finished and in all."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("trials"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(name, total=None)
        yield lambda finished, total: progress.update(task, completed=finished, total=total)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Errors that are raised on purpose become one line on standard error and an exit code."""
    from surefoot import InvalidInput, NotReady, SurefootError

    try:
        yield
    except SurefootError as error:
        typer.echo(" ".join(str(error).split()), err=True)
        raise typer.Exit(2 if isinstance(error, InvalidInput | NotReady) else 1) from None
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(130) from None

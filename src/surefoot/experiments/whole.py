"""Files and folders that are there whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from surefoot.types import InvalidInput


class CannotWrite(InvalidInput):
    """A result has no place to go: no room, no permission, no such folder."""


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Whatever keeps a file from being written within becomes `CannotWrite`."""
    try:
        yield
    except OSError as error:
        raise CannotWrite(f"{path}: cannot be written: {error.strerror or error}") from None


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which takes the place of `path` when all has been written.

    What was at `path` before stays until then. Raises `CannotWrite`, and leaves nothing half done.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    former = path.with_name(f".{path.name}.{os.getpid()}.former")
    with explained(path):
        try:
            shutil.rmtree(partial, ignore_errors=True)  # of a process with this number that died
            if former.exists() and not path.exists():
                former.rename(path)
            shutil.rmtree(former, ignore_errors=True)
            partial.mkdir(parents=True)
            yield partial
            if path.exists():
                path.rename(former)
            partial.rename(path)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
            if former.exists() and not path.exists():
                former.rename(path)
            shutil.rmtree(former, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """A file of text, which takes the place of `path` when it is whole; raises `CannotWrite`."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with explained(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(text, encoding="utf-8")
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def require_room(folder: Path, megabytes: float) -> None:
    """`CannotWrite` unless the folder can be made, and so much is free on its disk."""
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free / 1e6
        if not os.access(folder, os.W_OK):
            raise PermissionError(0, "no permission")
    if free < megabytes:
        raise CannotWrite(
            f"{folder}: no room on disk: {free:.0f} MB are free, expected at least {megabytes:.0f}"
        )

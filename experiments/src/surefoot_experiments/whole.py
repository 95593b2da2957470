"""Files and folders that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
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
def folder_if_used(path: Path) -> Iterator[None]:
    """The folder is there within; what had to be made for it is gone after, if nothing is in it."""
    with explained(path):
        made = [each for each in (path, *path.parents) if not each.exists()]
        path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            for folder in made:
                folder.rmdir()


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which takes the place of `path` when all has been written.

    What was at `path` before stays until then. One process at a time may write to a path. Raises
    `CannotWrite`, and leaves nothing half done.
    """
    partial = path.with_name(f".{path.name}.partial")
    former = path.with_name(f".{path.name}.former")
    with explained(path):
        try:
            shutil.rmtree(partial, ignore_errors=True)  # of a process that died
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


def copy_into(folder: Path, paths: Iterable[Path]) -> None:
    """Copies of files and folders, links as links; `CannotWrite` where a name is taken."""
    for path in paths:
        place = folder / path.name
        if place.exists():
            raise CannotWrite(f"{path}: a new file has that name: move yours elsewhere")
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, place, symlinks=True)
        else:
            shutil.copy2(path, place, follow_symlinks=False)


def require_room(folder: Path, megabytes: float) -> None:
    """`CannotWrite` unless the folder can be written to, and so much is free on its disk."""
    with explained(folder):
        free = shutil.disk_usage(folder).free / 1e6
        if not os.access(folder, os.W_OK):
            raise PermissionError(0, "no permission")
    if free < megabytes:
        raise CannotWrite(
            f"{folder}: no room on disk: {free:.0f} MB are free, expected at least {megabytes:.0f}"
        )

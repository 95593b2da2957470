"""Files that commands write: checked before, and replaced in one step or only appended to."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from surefoot._internal.files import atomic_write
from surefoot.tune.system import try_lock
from surefoot.types import InvalidInput, SurefootError


class WriteFailed(SurefootError):
    """An output file could not be written."""


def check_output(path: Path, endings: tuple[str, ...] = ()) -> None:
    """Check that a file can be written to.

    Args:
        path: The output file.
        endings: Its possible endings, such as `.csv`; any if empty.

    Raises:
        InvalidInput: If the ending is another one, the path is in no folder, or it is a folder or
            a device.
    """
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder, expected the name of a file")
    if path.exists() and not path.is_file():
        raise InvalidInput(f"{path} is a device or a pipe, expected the name of a file")
    if endings and path.suffix.lower() not in endings:
        expected = " or ".join(endings)
        raise InvalidInput(f"{path}: got the ending {path.suffix!r}, expected {expected}")
    if not path.absolute().parent.is_dir():
        raise InvalidInput(f"{path}: there is no folder {path.absolute().parent}")


@contextlib.contextmanager
def output_file(path: Path) -> Iterator[Path]:
    """Write an output file: yields a temporary path, which replaces `path` at the end.

    Raises:
        WriteFailed: If the file cannot be written.
    """
    try:
        with atomic_write(path) as partial:
            yield partial
    except OSError as error:
        raise WriteFailed(f"{path}: cannot be written: {error.strerror or error}") from None


@contextlib.contextmanager
def only_writer(path: Path, what: str) -> Iterator[None]:
    """Keep all other processes from a file to which lines are appended; it is created if need be.

    Args:
        path: The file.
        what: What is refused while another process has the file.

    Raises:
        InvalidInput: If another process has it.
        WriteFailed: If it cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise WriteFailed(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            if not try_lock(descriptor):
                raise InvalidInput(f"{path}: {what} is running, expected one at a time")
        yield
    finally:
        os.close(descriptor)


def append_line(path: Path, line: Mapping[str, Any]) -> None:
    """Append a JSON object to a file, a line that is on the disk when this returns.

    Raises:
        WriteFailed: If the file cannot be written.
    """
    content = json.dumps(line, allow_nan=False).encode() + b"\n"
    try:
        with path.open("ab", buffering=0) as file:
            while content:
                content = content[file.write(content) :]
            os.fsync(file.fileno())
    except OSError as error:
        raise WriteFailed(f"{path}: cannot be written: {error.strerror or error}") from None


def read_lines(path: Path, repair: bool = False) -> list[bytes]:
    """The complete lines of a file of JSON objects.

    Args:
        path: The file.
        repair: Whether to remove an incomplete last line, which a killed process has begun.

    Raises:
        InvalidInput: If the file cannot be read, or has other content.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror or error}") from None
    complete = content.rfind(b"\n") + 1
    if content and not complete and not content.startswith(b'{"'):
        raise InvalidInput(f"{path}: not a file of JSON objects; move it away to begin anew")
    if repair and complete < len(content):
        os.truncate(path, complete)
    return content[:complete].splitlines()

"""Files that commands write: checked before any work, and replaced in one step."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from surefoot._internal.files import atomic_write
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

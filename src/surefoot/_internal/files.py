"""Writing files so that a reader finds the old content or the new, never a part of it."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Replace a file in one step.

    The block writes and closes a temporary file in the same folder. When the block ends, that file
    is synced to disk and renamed to `path`; when the block raises, it is removed and `path` stays
    as it was.

    Args:
        path: The file to create or replace.

    Yields:
        The temporary file's path, at which nothing exists yet.

    Raises:
        OSError: If the file cannot be written; it names `path` also where the temporary file is
            the one that could not be.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.partial")
    try:
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.replace(path)
    except OSError as error:
        if error.filename != str(partial):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
    # The rename itself lasts through a power failure only once the folder is synced; some file
    # systems cannot do that, and the file is complete either way.
    with contextlib.suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

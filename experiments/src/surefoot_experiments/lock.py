"""One process at a time at one result."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from surefoot.types import InvalidInput
from surefoot_experiments.whole import explained

_TRIES = 100
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@contextmanager
def alone(path: Path, refusal: str) -> Iterator[None]:
    """Hold the lock file `path` within; `InvalidInput` with `refusal` where another process does.

    The system releases it when its process ends, by kill -9 too. Nothing is locked on Windows, nor
    on a file system that has no locks.
    """
    with explained(path):
        descriptor = _locked(path)
    if descriptor is None:
        raise InvalidInput(refusal)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # while it is held, lest a lock of another goes
            path.unlink()
        os.close(descriptor)
        with contextlib.suppress(OSError):  # files of others may be there
            path.parent.rmdir()


def _locked(path: Path) -> int | None:
    """The lock's file, or None where it is held."""
    for _ in range(_TRIES):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # its last holder removed the folder in between
            continue
        if not _acquired(descriptor):
            os.close(descriptor)
            return None
        if _is_at(descriptor, path):
            return descriptor
        os.close(descriptor)  # the file that its last holder removed: others see another one
    raise OSError(errno.EAGAIN, "its lock comes and goes")


def _acquired(descriptor: int) -> bool:
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False

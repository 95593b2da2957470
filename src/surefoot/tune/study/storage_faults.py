"""Faults of a storage, by the codes of its error: which pass, and what to do about the others."""

from __future__ import annotations

import errno
import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import sleep
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from sqlalchemy.exc import DBAPIError

Result = TypeVar("Result")


@dataclass(frozen=True)
class Fault:
    """A fault of a storage.

    Args:
        advice: What to do.
        is_permanent: Whether the same command fails again until someone has acted.
        keeps: Whether what was recorded before is certainly safe.
    """

    advice: str
    is_permanent: bool
    keeps: bool


DAMAGED = Fault(
    "the storage is damaged: restore it from a copy, or move it away to begin anew", True, False
)
READ_ONLY = Fault(
    "make the storage writable, a file with its folder; then the same command goes on", True, True
)
ABSENT = Fault(
    "check that the file and its folder are there and may be read and written", True, False
)
MOVED = Fault(
    "the file was deleted, moved or replaced after it had been opened: put it back, or begin anew",
    True,
    False,
)
FULL = Fault("no space is left: free some", False, True)
LOCKED = Fault("another process holds the storage: wait until it has ended", False, True)
BROKEN = Fault("check the disk or the network that it is on, and repeat the command", False, False)

_SQLITE = {  # primary result codes, and extended ones that say more
    **dict.fromkeys((sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY), READ_ONLY),
    **dict.fromkeys((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED), LOCKED),
    **dict.fromkeys((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB), DAMAGED),
    sqlite3.SQLITE_IOERR: BROKEN,
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_CANTOPEN: ABSENT,
    sqlite3.SQLITE_READONLY_DBMOVED: MOVED,
}
# Python's own message of a text that is none, and of tables or columns that are not Optuna's.
_FOREIGN = ("Could not decode to UTF-8", "no such table", "no such column")
_SYSTEM = {
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), READ_ONLY),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), FULL),
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR), ABSENT),
    errno.EIO: BROKEN,
}
_SERVERS = {  # SQLSTATE of PostgreSQL, numbers of MySQL and MariaDB
    # A transaction, or too few privileges; the server, or too few privileges.
    **dict.fromkeys(("25006", "42501", "1290", "1792", "1836", "1044", "1142"), READ_ONLY),
    **dict.fromkeys(("53100", "1021", "1114"), FULL),
    **dict.fromkeys(("XX001", "XX002"), DAMAGED),  # data, index
}
# A statement's time limit, locks, serialization, deadlocks, failovers, the rest of a transaction.
_PASSING = {
    *("57014", "55P03", "40001", "40P01", "25006", "25P02"),
    *("1205", "1213", "1290", "1792", "1836"),
}
_ATTEMPTS, _PAUSE = 8, 0.25  # pauses in seconds, each twice as long as the last: half a minute


def overcome(
    do: Callable[[], Result],
    before: Callable[[], None] = lambda: None,
    at_once: tuple[type[Exception], ...] = (),
) -> Result:
    """Result of a function that uses a storage, called again where a failure may pass.

    Args:
        do: The function.
        before: Called before each further time, to undo what the last one has written.
        at_once: Errors that are raised at once.
    """
    for attempt in range(_ATTEMPTS - 1):
        try:
            if attempt:
                before()
            return do()
        except Exception as error:  # Optuna and surefoot raise their own from the driver's
            if isinstance(error, at_once) or not passes(error):
                raise
            sleep(_PAUSE * 2**attempt)
    before()
    return do()


def passes(error: BaseException) -> bool:
    """Whether a database has ended or refused a connection, or refused a statement for now."""
    from sqlalchemy.exc import DBAPIError, PendingRollbackError

    return any(
        isinstance(one, PendingRollbackError)
        or (isinstance(one, DBAPIError) and _is_disconnection(one))
        or _code(one) in _PASSING
        or _SQLITE.get(getattr(one, "sqlite_errorcode", 0) & 255) is LOCKED
        for one in _chain(error)
    )


def _is_disconnection(error: DBAPIError) -> bool:
    """Whether a connection was ended, or a server has refused one."""
    return error.connection_invalidated or (
        error.statement is None and not isinstance(error.orig, sqlite3.Error)
    )


def fault_of(error: BaseException) -> Fault | None:
    """Fault that an error, or one that it was raised from, shows; None if there is none."""
    return next(filter(None, map(_by_code, _chain(error))), None)


def _by_code(error: BaseException) -> Fault | None:
    if isinstance(error, sqlite3.Error):
        if str(error).startswith(_FOREIGN):
            return DAMAGED
        code = getattr(error, "sqlite_errorcode", 0)  # absent where SQLite was not asked
        return _SQLITE.get(code) or _SQLITE.get(code & 255)  # the rest says where it was found
    if (code := _code(error)) is not None:
        return _SERVERS.get(code)
    if isinstance(error, UnicodeError | json.JSONDecodeError):  # of a journal
        return DAMAGED
    return _SYSTEM.get(error.errno or 0) if isinstance(error, OSError) else None


def _code(error: BaseException) -> str | None:
    """SQLSTATE of an error of psycopg or psycopg2, number of one of a driver of MySQL."""
    if "mysql" in type(error).__module__.lower() and error.args:
        return str(error.args[0])
    state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    return state if isinstance(state, str) else None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and what it was raised from on purpose: a driver's context may be its socket's."""
    while error is not None:
        yield error
        error = getattr(error, "orig", None) or error.__cause__

"""Waiting for a database that does not answer, or accept statements, for a while."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.engine import Dialect

Result = TypeVar("Result")
PATIENCE = 600.0  # seconds without a connection, after which a run ends
PAUSE = 1.0  # seconds before a second attempt; each pause is twice as long as the last one
LONGEST_PAUSE = 15.0
DISCONNECTIONS = 10  # in a row, after which a connection that is ended is an error
_ABORTED = "25P02"  # SQLSTATE of a statement after one in its transaction that was refused
ANSWERS, ACCEPTS = "the storage answers again", "the storage accepts statements again"
# Time limits on statements and locks, deadlocks, serialization, read-only as in a failover:
# SQLSTATE of PostgreSQL, codes of SQLite (busy, locked).
_SQLSTATES = {"57014", "55P03", "40001", "40P01", "25006"}
_SQLITE = {5, 6}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class _Thread(threading.local):
    """Since when a thread has waited, by what it waits for."""

    def __init__(self) -> None:
        self.since: dict[str, float] = {}


@dataclass
class Outages:
    """The outages of the database of this process's study, in which it is waited for.

    Every use of a pool with `pool_pre_ping` opens a new connection if the server has closed the
    old one, and connecting is repeated. What an outage interrupts in a transaction fails and is
    done again by `overcome`, and so is what the database has refused for now.

    Args:
        clock: The present time, in seconds.
        sleep: Waits for seconds.
        say: Shows a message.
        connected: Whether another process has connected the storage, as a run before its workers.
    """

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    say: Callable[[str], None] = _say
    connected: bool = False
    ended: float = -float("inf")
    """When the last outage ended, by the clock."""
    _noted: set[str] = field(default_factory=set, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _thread: _Thread = field(default_factory=_Thread, repr=False)

    def wait_at(
        self, engine: Engine, describe: Callable[[BaseException], str], *, connected: bool
    ) -> None:
        """Let an engine wait for its server where it opens a connection, but for its first one.

        If the first one fails, the URL or the password may be wrong, unless the storage has been
        connected before.

        Args:
            engine: The engine.
            describe: Describes the storage and an error, without passwords.
            connected: Whether it has been connected already.
        """
        from sqlalchemy import event

        def connect(dialect: Dialect, _: Any, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
            nonlocal connected
            if connected or self.connected:
                return self.until_connected(lambda: dialect.connect(*args, **named), describe)
            connection = dialect.connect(*args, **named)
            connected = True
            return connection

        event.listen(engine, "do_connect", connect)

    def until_connected(
        self, connect: Callable[[], Any], describe: Callable[[BaseException], str]
    ) -> Any:
        """Result of `connect`; while it raises an error, it is called again.

        Args:
            connect: Opens a connection.
            describe: Describes the storage and an error, without passwords.

        Raises:
            Exception: The last error, after `PATIENCE` seconds without a connection.
        """
        return self._until(ANSWERS, connect, lambda error: True, describe)

    def overcome(
        self,
        do: Callable[[], Result],
        describe: Callable[[BaseException], str],
        before: Callable[[], None] = lambda: None,
    ) -> Result:
        """Result of `do`, which is called again where the database fails for a while.

        That is at once where it ends the connection, and after a while where it refuses statements.

        Args:
            do: Uses the storage.
            describe: Describes the storage and an error, without passwords.
            before: Called before each further time, to undo what the last one has written.

        Raises:
            Exception: Another error, or the last one after `PATIENCE` seconds or `DISCONNECTIONS`.
        """
        times = itertools.count()

        def afresh() -> Result:
            if next(times):
                before()
            return do()

        def connected() -> Result:
            for _ in range(DISCONNECTIONS):
                try:
                    return afresh()
                except Exception as error:  # Optuna and surefoot raise their own from the driver's
                    if not is_disconnection(error):
                        raise
            return afresh()

        return self._until(ACCEPTS, connected, is_refusal, describe)

    def _until(
        self,
        what: str,
        do: Callable[[], Result],
        passes: Callable[[BaseException], bool],
        describe: Callable[[BaseException], str],
    ) -> Result:
        """Call `do` until it raises no error that passes.

        A thread that has given up does not wait again until it has succeeded: what a run does as
        it ends, such as marking its trials, would take as long again.
        """
        pause, since = PAUSE, self._thread.since
        while True:
            began = self.clock()
            try:
                done = do()
            except Exception as error:  # drivers have errors of their own
                if not passes(error):
                    raise
                if self.clock() - since.setdefault(what, began) >= PATIENCE:
                    raise
                self._note(what, describe(error))
            else:
                since.pop(what, None)
                self._note(what, "")
                return done
            self.sleep(pause)
            pause = min(2.0 * pause, LONGEST_PAUSE)

    def _note(self, what: str, error: str) -> None:
        """Say once that an outage has begun, and that it has ended."""
        with self._lock:
            begins, ends = (
                bool(error) and what not in self._noted,
                not error and what in self._noted,
            )
            if begins:
                self._noted.add(what)
            if ends:
                self._noted.remove(what)
                self.ended = self.clock()
        if begins:
            self.say(f"{error}; trying again for {PATIENCE / 60.0:g} minutes")
        if ends:
            self.say(what)


def is_disconnection(error: BaseException) -> bool:
    """Whether an error, or one that it was raised from, is the end of a connection.

    That of its transaction is like it, after an error that something has caught.
    """
    from sqlalchemy.exc import DBAPIError, PendingRollbackError

    return any(
        isinstance(one, PendingRollbackError)
        or (isinstance(one, DBAPIError) and one.connection_invalidated)
        or _sqlstate(one) == _ABORTED
        for one in _chain(error)
    )


def is_refusal(error: BaseException) -> bool:
    """Whether the database has refused a statement that it may accept later."""
    return any(
        _sqlstate(one) in _SQLSTATES or getattr(one, "sqlite_errorcode", 0) & 255 in _SQLITE
        for one in _chain(error)
    )


def _sqlstate(error: BaseException) -> object:
    """SQLSTATE of an error of psycopg or psycopg2."""
    return getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and what it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


OUTAGES = Outages()
"""Outages of this process, which has one storage."""

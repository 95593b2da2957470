"""Waiting for a database server that does not answer for a while, such as during its restart."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError, PendingRollbackError

PATIENCE = 600.0  # seconds without a connection, after which a run ends
PAUSE = 1.0  # seconds before a second attempt; each pause is twice as long as the last one
LONGEST_PAUSE = 15.0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class _Thread(threading.local):
    """Since when a thread has been without a connection, None while it has one."""

    since: float | None = None


@dataclass
class Outages:
    """The outages of the database server of this process's study, in which new connections wait.

    Every use of a pool with `pool_pre_ping` opens a new connection if the server has closed the
    old one. Nothing is executed twice, since only connecting is repeated: what an outage interrupts
    in a transaction fails, see `OpenedStudy.attempt`.

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
    _noted: bool = False
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

        A thread that has given up does not wait again until it has had a connection: what a run
        does as it ends, such as marking its trials, would take as long again.

        Args:
            connect: Opens a connection.
            describe: Describes the storage and an error, without passwords.

        Raises:
            Exception: The last error, after `PATIENCE` seconds without a connection.
        """
        pause = PAUSE
        while True:
            began = self.clock()
            try:
                connection = connect()
            except Exception as error:  # drivers have errors of their own
                if self._thread.since is None:
                    self._thread.since = began
                if self.clock() - self._thread.since >= PATIENCE:
                    raise
                self._note(describe(error))
            else:
                self._thread.since = None
                self._note(None)
                return connection
            self.sleep(pause)
            pause = min(2.0 * pause, LONGEST_PAUSE)

    def _note(self, error: str | None) -> None:
        """Say once that an outage has begun, and that it has ended."""
        with self._lock:
            begins, ends = error is not None and not self._noted, error is None and self._noted
            self._noted = error is not None
            if ends:
                self.ended = self.clock()
        if begins:
            self.say(f"{error}; trying again for {PATIENCE / 60.0:g} minutes")
        if ends:
            self.say("the storage answers again")


def is_disconnection(error: BaseException | None) -> bool:
    """Whether an error, or one that it was raised from, is the end of a connection."""
    while error is not None:
        if isinstance(error, PendingRollbackError):  # after one that something has caught
            return True
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            return True
        error = error.__cause__ or error.__context__
    return False


OUTAGES = Outages()
"""Outages of this process, which has one storage."""

"""Processes that hold parts of the arms: those of executors, or this one."""

from __future__ import annotations

import contextlib
import threading
import uuid
import weakref
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Protocol

from surefoot.regression.shard import Command, Shard

Part = tuple[Any, ...]  # arguments of `Shard`


class Lost(Exception):
    """A worker is gone, with all it held."""


class Workers(Protocol):
    """Workers, each of which holds a `Shard`."""

    def start(self, index: int, part: Part) -> Any:
        """A worker with a part of the arms, in place of one of that number that is lost."""

    def submit(self, worker: Any, commands: list[Command]) -> Callable[[], Any]:
        """Run commands; what is returned waits for the result of the last one.

        Raises:
            Lost: In either, if the worker is gone.
        """


class LocalWorkers:
    """Parts in this process."""

    def start(self, index: int, part: Part) -> Shard:
        """The part itself."""
        return Shard(*part)

    def submit(self, worker: Shard, commands: list[Command]) -> Callable[[], Any]:
        """Run commands at once."""
        result = worker.run(commands)
        return lambda: result


@dataclass(frozen=True)
class ExecutorWorkers:
    """Parts in the processes of executors, of each of them one.

    Args:
        executors: Function of a worker's number that returns its executor.
    """

    executors: Callable[[int], Executor]

    def start(self, index: int, part: Part) -> Remote:
        """A part in the process of a new executor."""
        return Remote(self.executors(index), part)

    def submit(self, worker: Remote, commands: list[Command]) -> Callable[[], Any]:
        """Run commands in its process."""
        return worker.submit(commands)


class Remote:
    """A part in the process of an executor.

    Args:
        executor: The executor.
        part: The part.
    """

    def __init__(self, executor: Executor, part: Part) -> None:
        self._executor, self._key = executor, uuid.uuid4().hex
        self._held = executor.submit(_hold, self._key, part)
        weakref.finalize(self, _end, executor, self._key).atexit = False

    def submit(self, commands: list[Command]) -> Callable[[], Any]:
        """Run commands; what is returned waits for the result of the last one."""
        try:
            self._held.result()  # tasks of several threads would not be in order
            future = self._executor.submit(_run, self._key, commands)
        except Exception as error:  # executors have errors of their own
            raise Lost from error

        def result() -> Any:
            try:
                found, error = future.result()
            except Exception as lost:
                raise Lost from lost
            if error is not None:
                raise error
            return found

        return result


_parts: dict[str, Shard] = {}  # of this process, if it is that of an executor


def _hold(key: str, part: Part) -> None:
    _parts[key] = Shard(*part)


def _run(key: str, commands: list[Command]) -> tuple[Any, Exception | None]:
    """The result of commands, or their error; a process without the part is another one."""
    part = _parts[key]
    try:
        return part.run(commands), None
    except Exception as error:
        return None, error


def _forget(key: str) -> None:
    del _parts[key]


def _end(executor: Executor, key: str) -> None:
    """Free the memory of a part, and end its executor.

    In a thread: memory is collected anywhere, as in `submit` under a lock of all executors.
    """
    with contextlib.suppress(Exception):  # none can be started when Python ends
        threading.Thread(target=_forgotten, args=(executor, key), daemon=True).start()


def _forgotten(executor: Executor, key: str) -> None:
    with contextlib.suppress(Exception):  # it may be lost
        forgotten = executor.submit(_forget, key)
        forgotten.add_done_callback(lambda _: executor.shutdown(wait=False))


def workers_of(executors: Callable[[int], Executor] | None) -> Workers:
    """Workers of executors, see `spaces.Sharded`."""
    return LocalWorkers() if executors is None else ExecutorWorkers(executors)

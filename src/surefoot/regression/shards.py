"""The workers that have the parts of the arms, asked together."""

from __future__ import annotations

import contextlib
import itertools
import threading
import uuid
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from surefoot.regression.shard import Command, Shard
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.spaces import Arms
    from surefoot.spaces.storage import Sharded


_ATTEMPTS = 5  # of a question whose worker is lost


class Shards:
    """The parts of the arms, to be asked together.

    Commands wait until something is asked, and go out with the question: a round takes one message
    to each worker. A worker that is lost is replaced by one that is told what the question needs.

    Args:
        arms: The arms.
        kernel: The prior covariance.
    """

    def __init__(self, arms: Arms, kernel: Kernel) -> None:
        storage: Sharded = arms.storage  # type: ignore[assignment]
        number = min(storage.workers, len(arms))
        ends = [len(arms) * index // number for index in range(number + 1)]
        self._parts = [
            partial(_part, arms, first, last, kernel) for first, last in itertools.pairwise(ends)
        ]
        self._start = partial(workers_of, storage.executors)
        self._waiting: list[Command] = []
        self._keys = itertools.count()
        self.losses = 0  # of workers, so far

    def __getstate__(self) -> dict[str, Any]:
        """State of a copy, whose workers are its own and know nothing yet."""
        state = vars(self) | {"_waiting": [], "losses": self.losses + 1}
        for name in ("_workers", "_running"):
            state.pop(name, None)
        return state

    def key(self, owner: object) -> int:
        """A new key, which workers forget when its owner is gone."""
        key = next(self._keys)
        weakref.finalize(owner, self._waiting.append, ("drop", key)).atexit = False
        return key

    def tell(self, *command: Any) -> None:
        """Have all workers run a command, before the next question."""
        self._waiting.append(command)

    def ask(self, question: Command, needed: Sequence[Command]) -> list[Any]:
        """The answers of all workers.

        Args:
            question: A command that returns something.
            needed: Commands by which a worker that has lost everything can answer.
        """
        commands = [*self._waiting, question]
        self._waiting.clear()
        again = [*needed, question]
        answers: list[Any] = [None] * len(self._parts)
        left, sent = list(range(len(self._parts))), commands
        for _ in range(_ATTEMPTS):
            pending = [(index, self._submitted(index, sent)) for index in left]
            for index, result in pending:
                answers[index] = self._result(index, result)
            left, sent = [index for index in left if answers[index] is None], again
            if not left:
                return answers
        raise InvalidInput(
            f"workers {left} of {len(self._parts)} were lost {_ATTEMPTS} times in a row: there may "
            "be too little memory for their parts; pass more `workers`."
        )

    @cached_property
    def _workers(self) -> Workers:
        return self._start()

    @cached_property
    def _running(self) -> list[Any]:
        return [self._workers.start(index, part()) for index, part in enumerate(self._parts)]

    def _submitted(self, index: int, commands: list[Command]) -> Callable[[], Any] | None:
        try:
            return self._workers.submit(self._running[index], commands)
        except Lost:
            return None

    def _result(self, index: int, result: Callable[[], Any] | None) -> Any:
        """The answer of a worker, None if it had lost everything; another one if it is gone."""
        try:
            answer = None if result is None else result()
        except Lost:
            answer = result = None
        if answer is None:
            self.losses += 1
        if result is None:
            self._running[index] = self._workers.start(index, self._parts[index]())
        return answer


def _part(arms: Arms, first: int, last: int, kernel: Kernel) -> Part:
    """State that a worker starts from; a view of the coordinates would be sent with all of them."""
    part = arms.part(first, last, arms.storage.storage)  # type: ignore[union-attr]
    object.__setattr__(part, "points", part.points.clone())
    return part, first, kernel


def no_draws() -> NoReturn:
    """Refuse draws at arms in workers: they would be of all arms."""
    raise InvalidInput(
        "functions cannot be drawn at arms whose table is `Sharded`: pass "
        "`UpperConfidenceBound()` as the policy, or another `storage`."
    )


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
        executor.submit(_forget, key).add_done_callback(lambda _: executor.shutdown(wait=False))


def workers_of(executors: Callable[[int], Executor] | None) -> Workers:
    """Workers of executors, see `spaces.Sharded`."""
    return LocalWorkers() if executors is None else ExecutorWorkers(executors)

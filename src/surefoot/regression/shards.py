"""The workers that have the parts of the arms, asked together."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn

from surefoot.regression.shard import Command
from surefoot.regression.shard_workers import Lost, Part, Workers, workers_of
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
    part = arms.part(first, last, arms.storage.storage)  # type: ignore[attr-defined]
    object.__setattr__(part, "points", part.points.clone())
    return part, first, kernel


def no_draws() -> NoReturn:
    """Refuse draws at arms in workers: they would be of all arms."""
    raise InvalidInput(
        "functions cannot be drawn at arms whose table is `Sharded`: pass "
        "`UpperConfidenceBound()` as the policy, or another `storage`."
    )

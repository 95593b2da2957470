"""Arms chosen before the rewards of those before them are there, and the batches they form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from surefoot.optimizer.batch import Batch
from surefoot.optimizer.belief import Belief
from surefoot.optimizer.tally import Tally
from surefoot.types import NotReady


class Batches:
    """The pulls of a tally whose rewards are awaited, and the batch under way.

    Awaited pulls count in the geometry from when they are chosen. A batch begins with a belief,
    whose mean and width stay until the next one.
    """

    def __init__(self, tally: Tally) -> None:
        self.begun_with: Belief | None = None
        self._tally = tally
        self._awaited: dict[int, int] = {}  # pulls by arm
        self._last = 0  # the arm awaited last
        self._batch: Batch | None = None
        self._scale = 1.0  # of the rewards, at the start of the batch

    def await_reward(self, arm: int, times: int = 1) -> None:
        """Count pulls of an arm before their rewards are there."""
        tally = self._tally
        self._awaited[arm] = self._awaited.get(arm, 0) + times
        self._last = arm
        if tally.sketching is not None:
            tally.sketching.count(arm, times)
        if self._batch is not None:
            self._batch.choose(*tally.step(arm, times), tally.ridge * self._scale**2)

    def reward_came(self, arm: int) -> None:
        """One of the pulls of an arm has its reward; one that nobody awaited counts now."""
        if arm not in self._awaited:
            self.await_reward(arm)
        self._settle(arm, 1)

    def give_up(self, arm: int, times: int = 1) -> bool:
        """Take back pulls whose rewards will not come, which ends the batch; whether any were."""
        if arm not in self._awaited:
            return False
        self._settle(arm, min(times, self._awaited[arm]))
        self._batch = None
        return True

    def bring_up_to_date(self, draw: bool) -> None:
        """Work the tally out anew from all pulls; with `draw`, on a new dictionary."""
        if draw:
            self._tally.sketch_anew(self._awaited, self._last)
        else:
            self._tally.refresh(self._awaited)

    @property
    def is_over(self) -> bool:
        """Whether the next arm begins a new batch."""
        sketching = self._tally.sketching
        return self._batch is None or (sketching is not None and sketching.is_due)

    def begin(self, belief: Belief, width: Callable[[], float]) -> None:
        """Begin a batch; the width is asked for when the belief is that of the batch."""
        self.begun_with, tally = belief, self._tally
        values, self._scale = belief.posterior.table, belief.posterior.scale
        mean = tally.prior if values is None else values.mean
        self._batch = Batch(tally.table, mean, tally.variance * self._scale**2, width())

    def best(self, among: list[int] | None) -> int:
        """The arm to choose next, of those `among` which it must be; in a batch that is begun."""
        if self._batch is None:
            raise NotReady("no batch has begun.")
        return self._batch.best() if among is None else self._batch.best_of(among)

    def state(self, tensors: dict[str, Tensor]) -> dict[str, Any]:
        """All that `restore` needs, as values, and tensors added to those given."""
        if self._batch is not None:
            tensors |= {f"batch.{name}": x for name, x in self._batch.state().items()}
        return {
            "awaited": [*map(list, self._awaited.items())],
            "last": self._last,
            "under_way": self._batch is not None,
            "scale": self._scale,
        }

    def restore(self, values: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Go on from a state, on a tally that was restored."""
        self._awaited, self._last = dict(values["awaited"]), values["last"]
        self._scale = values["scale"]
        if values["under_way"]:
            state = {name.removeprefix("batch."): x for name, x in tensors.items()}
            self._batch = Batch.restored(self._tally.table, state)

    def _settle(self, arm: int, times: int) -> None:
        self._awaited[arm] -= times
        if self._awaited[arm] == 0:
            del self._awaited[arm]

"""Observers of a run, and the trials that are new to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from optuna.trial import FrozenTrial

from surefoot.tune.study.trials import StudyTrials


def _nothing(*_: object) -> None:
    return None


@dataclass(frozen=True)
class Observer:
    """Observes a run; by default it does nothing.

    Args:
        began: Called when this process is about to measure a trial.
        finished: Called when trials may have been recorded.
        note: Called with a message for the user.
    """

    began: Callable[[], None] = _nothing
    finished: Callable[[], None] = _nothing
    note: Callable[[str], None] = _nothing

    @classmethod
    def all_of(cls, observers: Sequence[Observer]) -> Observer:
        """Several observers as one, in the order in which they are called."""

        def each(name: str) -> Callable[..., None]:
            def call(*given: Any) -> None:
                for one in observers:
                    getattr(one, name)(*given)

            return call

        return cls(each("began"), each("finished"), each("note"))


SILENT = Observer()


class NewTrials:
    """The trials that have ended since the last look.

    Args:
        trials: The trials of a run; those that have ended before are known.
    """

    def __init__(self, trials: StudyTrials) -> None:
        self._trials, self.state, self._seen = trials, trials.opened.state(), set[int]()
        self._new()

    def look(self) -> list[FrozenTrial]:
        """New trials of the study, in order of their ends; `state` is the study."""
        self.state = self._trials.opened.state()
        return sorted(self._new(), key=lambda trial: trial.datetime_complete or datetime.min)

    def _new(self) -> list[FrozenTrial]:
        ended = (one for one in self.state.trials if one.state.is_finished())
        new = [one for one in ended if one.number not in self._seen]
        self._seen.update(one.number for one in new)
        return new

"""Followers of a run, called beside its display, and the trials that are new to them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime

from optuna.trial import FrozenTrial

from surefoot.tune.display import Display
from surefoot.tune.study.state import StudyState
from surefoot.tune.study.trials import StudyTrials

Follower = Callable[[StudyTrials, Display], AbstractContextManager[Display]]
"""Follows a run within a block; given its trials, and where to show a message."""


@dataclass
class NewTrials:
    """The trials that have ended since the last look.

    Args:
        trials: The trials of a run; those that have ended before are known.
    """

    trials: StudyTrials
    _seen: set[int] = field(init=False)

    def __post_init__(self) -> None:
        state = self.trials.opened.state()
        self._seen = {trial.number for trial in state.trials if trial.state.is_finished()}

    def look(self) -> tuple[StudyState, list[FrozenTrial]]:
        """The study, and what is new, in order of the ends."""
        state = self.trials.opened.state()
        new = [t for t in state.trials if t.state.is_finished() and t.number not in self._seen]
        self._seen.update(trial.number for trial in new)
        return state, sorted(new, key=lambda trial: trial.datetime_complete or datetime.min)


@dataclass(frozen=True)
class Together:
    """Several displays as one.

    Args:
        displays: The displays, in the order in which they are called.
    """

    displays: Sequence[Display]

    def began(self) -> None:
        for one in self.displays:
            one.began()

    def finished(self) -> None:
        for one in self.displays:
            one.finished()

    def note(self, text: str) -> None:
        for one in self.displays:
            one.note(text)


@contextlib.contextmanager
def followed(
    display: Display, trials: StudyTrials, followers: Sequence[Follower]
) -> Iterator[Display]:
    """A display together with followers of the run, which end with the block."""
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(one(trials, display)) for one in followers]
        yield Together([display, *others])

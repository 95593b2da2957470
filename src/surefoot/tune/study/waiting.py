"""A message when all remaining rounds of a study are measured by other machines."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from surefoot.tune.plain_text import shown
from surefoot.tune.study import trial_owner
from surefoot.tune.study.heartbeat import SILENCE
from surefoot.tune.study.trials import StudyTrials

PATIENCE = 20.0  # seconds of waiting without a message


@dataclass
class WaitingNote:
    """Notes, once, which trials of other machines a run waits for.

    Args:
        trials: The study's trials.
        note: Shows a message.
        clock: The present time, in seconds.
    """

    trials: StudyTrials
    note: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._due = self.clock() + PATIENCE

    def look(self) -> None:
        """Look at the study, at most every few seconds."""
        if self.clock() < self._due:
            return
        self._due = self.clock() + PATIENCE
        awaited = self.trials.awaited()
        if not awaited:
            return
        self._due = float("inf")
        first = awaited[0]
        owner = trial_owner.owner_of(first) or {}
        more = f" and {len(awaited) - 1} more" if len(awaited) > 1 else ""
        self.note(
            f"waiting for trial {first.number}{more}, which the machine "
            f"{shown(owner.get('host'))} began; if nothing is heard of it for {SILENCE:g} s, it "
            "counts as lost, and is measured again"
        )

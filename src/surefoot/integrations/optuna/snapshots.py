"""Reading a study to look at its model, which must not change the run."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optuna.trial import FrozenTrial

if TYPE_CHECKING:
    from optuna.study import Study

    from surefoot.integrations.optuna.tracker import StudyTracker


@dataclass(frozen=True)
class _Snapshot:
    """A copy of a tracker that has read more trials than the tracker itself."""

    tracker: StudyTracker
    reads: int  # of the tracker, when it was copied
    unread: frozenset[int]  # finished trials that the copy has read since
    copy: StudyTracker


class Snapshots:
    """Trackers for looking at a study, each made anew unless nothing has changed.

    What a run proposes depends on which trials were read together. A look therefore reads with a
    copy; if the run then reads the same trials, it goes on with a copy of that, so that nothing is
    fitted twice and the model that was looked at stays as it is.
    """

    def __init__(self) -> None:
        self._last: _Snapshot | None = None

    def take(
        self, study: Study, tracker: StudyTracker, trials: Sequence[FrozenTrial]
    ) -> StudyTracker:
        """A tracker of the same study that has read the trials; `tracker` is left as it is."""
        known = self._known(tracker, trials)
        if known is None:
            known = _copied(tracker, study)
            unread = tracker.unread(trials)
            known.read(trials)
            self._last = _Snapshot(tracker, tracker.reads, unread, known)
        return known

    def read(
        self, study: Study, tracker: StudyTracker, trials: Sequence[FrozenTrial]
    ) -> StudyTracker:
        """The tracker after it has read the trials, which may be a copy of the last snapshot."""
        known = self._known(tracker, trials)
        current = tracker if known is None else _copied(known, study)
        self._last = None
        current.read(trials)
        return current

    def _known(self, tracker: StudyTracker, trials: Sequence[FrozenTrial]) -> StudyTracker | None:
        last = self._last
        if last is None or last.tracker is not tracker or last.reads != tracker.reads:
            return None
        return last.copy if last.unread == tracker.unread(trials) else None


def _copied(tracker: StudyTracker, study: Study) -> StudyTracker:
    """A copy that tracks the same study."""
    copied = copy.deepcopy(tracker)
    copied.is_of(study)
    return copied

"""How a tuning run stands, as values to show."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from surefoot.integrations.optuna import StudyBelief, StudyRecommendation
from surefoot.tune.ledger import Ledger, counts, failed
from surefoot.tune.opening import recommendation_of
from surefoot.types import NotReady


@dataclass(frozen=True)
class Status:
    """A moment of a run. `recommended` is None before the first measurement."""

    finished: int
    rounds: int
    failures: int
    outliers: int
    running: tuple[FrozenTrial, ...]
    new: tuple[FrozenTrial, ...]  # finished since the last look, in order of their end
    recommended: StudyRecommendation | None
    seconds_left: float | None


class Lookout:
    """Looks at a study again and again, and says what is new.

    `believe` gives the model's belief of the study; it is asked only when there is something new,
    and not at all with `model=False`.
    """

    def __init__(self, ledger: Ledger, believe: Callable[[], StudyBelief]) -> None:
        self._ledger = ledger
        self._believe = believe
        self._seen = {trial.number for trial in ledger.trials() if trial.state.is_finished()}
        self._begun = time.monotonic()
        self._before = ledger.finished()
        self._outliers = 0
        self._recommended: StudyRecommendation | None = None
        self._modelled = -1

    @property
    def already(self) -> int:
        """Rounds that were finished when the run began."""
        return self._before

    def look(self) -> Status:
        trials = self._ledger.trials()
        ended = [trial for trial in trials if trial.state.is_finished()]
        new = [trial for trial in ended if trial.number not in self._seen]
        self._seen.update(trial.number for trial in new)
        measured = sum(trial.state == TrialState.COMPLETE for trial in ended)
        if measured != self._modelled:
            self._modelled = measured
            try:
                belief = self._believe()
                self._outliers = int(belief.outliers.sum())
                self._recommended = recommendation_of(self._ledger.study_file, belief)
            except NotReady:
                self._recommended = None
        finished = sum(map(counts, ended))
        return Status(
            finished=finished,
            rounds=self._ledger.rounds,
            failures=sum(map(failed, ended)),
            outliers=self._outliers,
            running=tuple(t for t in trials if t.state == TrialState.RUNNING and t.params),
            new=tuple(sorted(new, key=lambda t: t.datetime_complete or datetime.min)),
            recommended=self._recommended,
            seconds_left=self._seconds_left(finished),
        )

    def _seconds_left(self, finished: int) -> float | None:
        """At the pace of this run so far, however many workers it has."""
        done = finished - self._before
        if done <= 0:
            return None
        return (time.monotonic() - self._begun) / done * max(0, self._ledger.rounds - finished)


def describe(params: dict[str, Any]) -> str:
    """A setting in one line, short enough to read."""
    return ", ".join(f"{name}={short(value)}" for name, value in params.items())


def short(value: Any) -> str:
    """A number to a few digits; anything else as it is."""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def describe_time(seconds: float) -> str:
    """A stretch of time in its one or two largest units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s" if whole < 600 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"

"""Ask, measure, tell, until the study holds enough rounds: one process's share of a tuning run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from optuna.trial import FrozenTrial

from surefoot.tune.ledger import Ledger, NoTrial, environment_of, reason_of
from surefoot.tune.objective import Objective
from surefoot.tune.stopping import Stop
from surefoot.types import SurefootError

FAILURES_IN_A_ROW = 5
PAUSE = 0.2  # seconds between looks at whether another process has finished


class Failing(SurefootError):
    """The objective failed too often in a row to go on; `exit_code` is how a worker says so."""

    exit_code: ClassVar[int] = 3

    @classmethod
    def after(cls, streak: list[FrozenTrial]) -> Failing:
        last = streak[-1]
        output = str(last.user_attrs.get("output", "")).strip().splitlines()
        said = f"; it printed: {output[-1][:200]}" if output else ""
        return cls(
            f"{len(streak)} failures in a row, the last (trial {last.number}): {reason_of(last)}"
            f"{said}; all trials are kept, and the same command goes on from here"
        )


class Watcher(Protocol):
    """Is told what the loop does."""

    def running(self, number: int, params: dict[str, Any]) -> None:
        """A trial is about to be measured."""

    def finished(self) -> None:
        """A trial has been recorded."""


@dataclass(frozen=True)
class Silent:
    """A watcher that shows nothing."""

    def running(self, number: int, params: dict[str, Any]) -> None:
        return None

    def finished(self) -> None:
        return None


def tune(
    ledger: Ledger,
    objective: Objective,
    stop: Stop,
    watcher: Watcher | None = None,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Run trials until the study holds the ledger's rounds, or until `stop` is requested.

    Every trial is in the storage, with its outcome, before the next one begins. Raises `Failing`
    after five failures in a row of this run, and `StorageFailed` when a trial cannot be recorded;
    whatever is raised, the trial in hand is marked as interrupted.
    """
    watcher = watcher or Silent()
    try:
        while not stop.requested:
            trial = ledger.claim()
            if trial is NoTrial.DONE:
                return
            if isinstance(trial, NoTrial):
                sleep(PAUSE)
                continue
            if stop.requested:
                ledger.give_up_own("stopped before it began")
                return
            watcher.running(trial.number, trial.params)
            ledger.record(trial, objective.measure({**trial.params, **environment_of(trial)}))
            watcher.finished()
            streak = ledger.failures_in_a_row()
            if len(streak) >= FAILURES_IN_A_ROW:
                raise Failing.after(streak)
    except BaseException as error:
        ledger.give_up_own(f"the run ended ({type(error).__name__})")
        raise
    finally:
        objective.close()

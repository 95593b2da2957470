"""One worker: ask, measure, tell, until the study has its rounds or a signal says to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from optuna.trial import FrozenTrial

from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.measuring.objective import Objective
from surefoot.tune.observer import SILENT, Observer
from surefoot.tune.plain_text import printable, shown
from surefoot.tune.stopping import Stop
from surefoot.tune.study import trial_owner
from surefoot.tune.study.failures import explained_failure
from surefoot.tune.study.heartbeat import SILENCE, heartbeats
from surefoot.tune.study.trial_attributes import trial_environment
from surefoot.tune.study.trials import TRIED_AGAIN, NoTrial, StudyTrials
from surefoot.tune.system import PATIENCE, POLL
from surefoot.types import SurefootError


class TooManyFailures(SurefootError):
    """The objective failed too often in a row; `exit_code` is how a worker process says so."""

    exit_code: ClassVar[int] = 3

    @classmethod
    def after(cls, streak: list[FrozenTrial]) -> TooManyFailures:
        last = streak[-1]
        known = " of a configuration that had been measured" * (TRIED_AGAIN in last.user_attrs)
        under = [trial_environment(one) for one in streak]
        alike = [
            f"{name} = {value}"
            for name, value in under[-1].items()
            if all(one.get(name) == value for one in under)
        ]
        where = f", all with {', '.join(alike)}" if alike else ""
        return cls(
            f"{len(streak)} failures in a row{where}, the last (trial {last.number}){known}: "
            f"{explained_failure(last)}; all trials are kept, and the same command resumes the "
            "study"
        )


class UnclearMeasurement(SurefootError):
    """The output of the objective has several readings or another unit than the study's."""

    @classmethod
    def of(cls, failure: Failure) -> UnclearMeasurement:
        return cls(
            f"{printable(failure.reason)}; the trial does not count, and `surefoot check` shows "
            "what is read"
        )


def tune(
    trials: StudyTrials,
    objective: Objective,
    stop: Stop,
    observer: Observer = SILENT,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Run trials until the study has its rounds, or until `stop` is requested.

    Every trial is in the storage, with its outcome, before the next one begins. Whatever is raised,
    the running trial is marked as interrupted and the objective is closed.

    Args:
        trials: The study's trials.
        objective: Measures a configuration.
        stop: Ends the loop after the running trial.
        observer: Called before and after each trial, and with a message if the run has to wait
            for other machines.
        sleep: Waits for other processes, in seconds.

    Raises:
        TooManyFailures: After five failures in a row of this run, one of them of a configuration
            that had been measured, if there is one.
        UnclearMeasurement: If the first output has several readings, or a unit that cannot be
            converted to the study's.
        StorageFailed: If a trial cannot be recorded.
        KeyboardInterrupt: After a second Ctrl-C.
        SystemExit: After SIGTERM or SIGHUP.
    """
    waiting, measured = WaitingNote(trials, observer.note), False
    try:
        while True:
            stop.check()
            if stop.requested:
                return
            with stop.interruptible():
                trial = trials.begin_next()
            if trial is NoTrial.DONE:
                return
            if isinstance(trial, NoTrial):
                waiting.look()
                sleep(POLL)
                continue
            waiting = WaitingNote(trials, observer.note)
            if stop.requested:
                trials.interrupt_own("stopped before it began")
                return
            with stop.interruptible():
                observer.began()
            with heartbeats(partial(trials.beat, trial)):
                result = objective.measure({**trial.params, **trial_environment(trial)}, stop)
            result = trials.in_study_units(result)
            if isinstance(result, Failure) and result.unclear and not measured:
                raise UnclearMeasurement.of(result)
            trials.record(trial, result)
            measured |= isinstance(result, Measurement)
            with stop.interruptible():
                observer.finished()
            if isinstance(result, Failure) and (streak := trials.final_failures()):
                raise TooManyFailures.after(streak)
    except BaseException as error:
        trials.interrupt_own(f"the run ended ({type(error).__name__})")
        raise
    finally:
        trial_owner.run_ended(trials.run)
        objective.close()


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

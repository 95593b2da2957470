"""One worker: ask, measure, tell, until the study has its rounds or a signal says to stop."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import ClassVar

from optuna.trial import FrozenTrial

from surefoot.tune.objective import Objective
from surefoot.tune.trial_attributes import OUTPUT, failure_reason, trial_environment
from surefoot.tune.trials import NoTrial, StudyTrials
from surefoot.types import SurefootError

MAX_FAILURES = 5  # in a row
PAUSE = 0.2  # seconds between looks at whether another process has finished


class TooManyFailures(SurefootError):
    """The objective failed too often in a row; `exit_code` is how a worker process says so."""

    exit_code: ClassVar[int] = 3

    @classmethod
    def after(cls, streak: list[FrozenTrial]) -> TooManyFailures:
        last = streak[-1]
        output = str(last.user_attrs.get(OUTPUT, "")).strip().splitlines()
        printed = f"; it printed: {output[-1][:200]}" if output else ""
        return cls(
            f"{len(streak)} failures in a row, the last (trial {last.number}): "
            f"{failure_reason(last)}{printed}; all trials are kept, and the same command resumes "
            "the study"
        )


class Stop:
    """Whether a stop was requested; the loop looks at it between trials."""

    def __init__(self) -> None:
        self.requested = False


def tune(
    trials: StudyTrials,
    objective: Objective,
    stop: Stop,
    *,
    began: Callable[[], None] = lambda: None,
    finished: Callable[[], None] = lambda: None,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Run trials until the study has its rounds, or until `stop` is requested.

    Every trial is in the storage, with its outcome, before the next one begins. Whatever is raised,
    the running trial is marked as interrupted and the objective is closed.

    Args:
        trials: The study's trials.
        objective: Measures a configuration.
        stop: Ends the loop after the running trial.
        began: Called when a trial is about to be measured.
        finished: Called when a trial has been recorded.
        sleep: Waits for other processes, in seconds.

    Raises:
        TooManyFailures: After five failures in a row of this run.
        StorageFailed: If a trial cannot be recorded.
    """
    try:
        while not stop.requested:
            trial = trials.begin_next()
            if trial is NoTrial.DONE:
                return
            if isinstance(trial, NoTrial):
                sleep(PAUSE)
                continue
            if stop.requested:
                trials.interrupt_own("stopped before it began")
                return
            began()
            result = objective.measure({**trial.params, **trial_environment(trial)})
            trials.record(trial, result)
            finished()
            streak = trials.failures_in_a_row()
            if len(streak) >= MAX_FAILURES:
                raise TooManyFailures.after(streak)
    except BaseException as error:
        trials.interrupt_own(f"the run ended ({type(error).__name__})")
        raise
    finally:
        objective.close()


@contextlib.contextmanager
def stop_on_signals(stop: Stop, note: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Handle signals in the main thread of the process.

    The first SIGINT requests a stop and calls `note`; the second raises `KeyboardInterrupt`.
    SIGTERM and SIGHUP raise `SystemExit` with 128 plus the signal's number.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        if stop.requested:
            raise KeyboardInterrupt
        stop.requested = True
        note()

    def terminate(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    handlers = {
        signal.SIGINT: interrupt,
        signal.SIGTERM: terminate,
        signal.SIGHUP: terminate,
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""Measurements as tasks of a `concurrent.futures.Executor`, such as that of a Dask cluster."""

from __future__ import annotations

import contextlib
import importlib
import math
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

from surefoot.tune.definition.command_template import InvalidCommand
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.measuring.objective import Objective, objective_of
from surefoot.tune.measuring.supervised_process import KeptProcesses
from surefoot.tune.plain_text import LONGEST_REASON, shown
from surefoot.tune.stopping import Stop
from surefoot.tune.system import ANSWER, PAUSE
from surefoot.types import InvalidInput, SurefootError

IDLE = 10.0 * ANSWER  # seconds without a measurement, after which a function's process ends


class ExecutorFailed(SurefootError):
    """An executor cannot be made, or has lost a task."""


def executor_of(study_file: StudyFile, given: str) -> Executor:
    """The executor that a function returns.

    Args:
        study_file: The study file, in whose folder the function's module may be.
        given: `module:name` of the function, which has no arguments.

    Raises:
        InvalidInput: If it does not name a function that returns an executor.
        ExecutorFailed: If the function raises an error.
    """
    module, _, name = given.partition(":")
    if not module or not name.isidentifier():
        raise InvalidInput(
            f"`executor` is {shown(given)}, expected module:name of a function that returns a "
            "`concurrent.futures.Executor`"
        )
    if (folder := str(study_file.folder)) not in sys.path:
        sys.path.append(folder)
    with _failing(given):
        found = getattr(importlib.import_module(module), name, None)
        made = found() if callable(found) else found
    if not isinstance(made, Executor):
        raise InvalidInput(
            f"executor {given} is no function that returns a `concurrent.futures.Executor`: got "
            f"{shown(made)}"
        )
    return made


def check_executor(study_file: StudyFile, given: str) -> None:
    """Check that a worker of an executor can run the objective of a study file.

    Args:
        study_file: The study file.
        given: `module:name` of the function that returns the executor.

    Raises:
        InvalidInput: If it does not name a function that returns an executor.
        StudyFileError: If a worker cannot run the objective.
        ExecutorFailed: If the executor cannot be made, or no worker answers.
    """
    if study_file.objective.keep:
        raise study_file.error(
            "objective.keep",
            "got true, expected false with --executor: its workers keep no process",
        )
    executor = executor_of(study_file, given)
    try:
        with _failing(given):
            task = executor.submit(_check, _objective_of(study_file), study_file.folder)
            problem = task.result(ANSWER)
    finally:
        executor.shutdown(wait=False)
    if problem is not None:
        key, message = problem
        raise study_file.error(key, f"on a worker of {given}: {message}")


class ExecutorObjective:
    """Measures configurations by an executor, which decides where.

    The command or function runs on a worker as it would here, with its timeout. A measurement that
    is given up goes on there until its end.

    Args:
        study_file: The study file.
        given: `module:name` of the function that returns the executor.
        run: Name of the run, whose processes share that of a function on a worker.

    Raises:
        InvalidInput: If it does not name a function that returns an executor.
        ExecutorFailed: If the executor cannot be made.
    """

    def __init__(self, study_file: StudyFile, given: str, run: str) -> None:
        self._objective, self._given, self._run = _objective_of(study_file), given, run
        self._executor = executor_of(study_file, given)

    def check(self) -> None:
        """Nothing: `check_executor` has done that."""

    def measure(
        self, params: Mapping[str, Any], stop: Stop, most: float = math.inf
    ) -> Measurement | Failure:
        """Measure on a worker, of whose machine the result has the name if it has no other.

        Raises:
            ExecutorFailed: If the executor has lost the measurement.
        """
        with _failing(self._given):
            task = self._executor.submit(_measure, self._run, self._objective, dict(params), most)
        try:
            while not wait([task], PAUSE).done:
                stop.check()
        except BaseException:
            task.cancel()
            raise
        with _failing(self._given):
            return task.result()

    def close(self) -> None:
        """End the executor's use."""
        self._executor.shutdown(wait=False)


@contextlib.contextmanager
def _failing(given: str) -> Iterator[None]:
    """Raise `ExecutorFailed` in place of any error of an executor."""
    try:
        yield
    except (Exception, SystemExit) as error:  # executors have errors of their own
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_REASON].rstrip(": ")
        raise ExecutorFailed(
            f"executor {given}: {reason}; all recorded trials are kept, and the same command "
            "resumes the study"
        ) from None


class _OnWorker:
    """State of a worker's process between tasks: one objective, used by one at a time."""

    def __init__(self) -> None:
        self.busy = threading.Lock()
        self._run = ""
        self._objective: Objective | None = None
        self._used = 0.0

    def use(self, run: str, objective: Objective) -> Objective:
        """The objective of a run; that of another one is closed."""
        if self._objective is None or run != self._run:
            self._close()
            self._run, self._objective = run, objective
        self._used = time.monotonic()
        timer = threading.Timer(IDLE, self._close_idle)
        timer.daemon = True
        timer.start()
        return self._objective

    def _close(self) -> None:
        if self._objective is not None:
            self._objective.close()
            self._objective = None

    def _close_idle(self) -> None:
        with self.busy:
            if time.monotonic() - self._used >= IDLE:
                self._close()


_here = _OnWorker()


def _measure(
    run: str, objective: Objective, params: dict[str, Any], most: float
) -> Measurement | Failure:
    with _here.busy:
        result = _here.use(run, objective).measure(params, Stop(), most)
    return replace(result, worker=result.worker or socket.gethostname())


def _check(objective: Objective, folder: Path) -> tuple[str, str] | None:
    """Key of the study file and message, if the objective cannot run on this worker."""
    if not folder.is_dir():
        return "objective", f"the folder {folder} of the study file is not there"
    try:
        with contextlib.closing(objective):
            objective.check()
    except InvalidCommand as error:
        return error.key, str(error)
    return None


def _objective_of(study_file: StudyFile) -> Objective:
    return objective_of(study_file, KeptProcesses(-1, -1))

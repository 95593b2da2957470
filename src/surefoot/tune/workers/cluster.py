"""Measurements as tasks of a Dask or Ray cluster, pinned to its workers."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol
from urllib.parse import urlsplit

from surefoot.tune.definition.command_template import InvalidCommand
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.kept_processes import KeptProcesses
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.measuring.objective import Objective, objective_of
from surefoot.tune.measuring.race import NO_RACE, Ending
from surefoot.tune.stopping import Stop
from surefoot.types import InvalidInput, SurefootError

LOCAL = "local"
POLL = 0.1  # seconds between looks at whether a task has ended
ANSWER = 10.0  # seconds for a cluster to answer
IDLE = 600.0  # seconds without a call, after which the process of a function is ended
RESUME = "all recorded trials are kept, and the same command resumes the study"
_BACKENDS = {name: f"surefoot.tune.workers.{name}_cluster" for name in ("dask", "ray")}

Task = Callable[..., Any]
"""A task: called on a worker with a function that tells whether it is cancelled, and arguments."""


class ClusterFailed(SurefootError):
    """A cluster, or a worker of it, cannot be reached or is gone."""


def connection_lost(backend: str, what: str) -> ClusterFailed:
    """The error of a cluster that no longer answers, or of a task that it could not run."""
    return ClusterFailed(f"{backend}: {what}; {RESUME}")


@dataclass(frozen=True)
class Connection:
    """The address of a cluster, and how its package's errors read in one line.

    Args:
        backend: The address as it was given, for messages.
        summary: Message of an error, in one line.
    """

    backend: str
    summary: Callable[[BaseException], str]

    @contextlib.contextmanager
    def errors(self, kinds: type[BaseException] = Exception) -> Iterator[None]:
        """Raise `ClusterFailed` in place of an error of these kinds from the cluster's package."""
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            raise
        except kinds as error:
            raise connection_lost(self.backend, self.summary(error)) from None

    def worker_gone(self, name: str) -> ClusterFailed:
        """The error of a worker that is no longer part of its cluster."""
        return connection_lost(self.backend, f"worker {name} is gone")


def no_answer(backend: str, kind: str, error: BaseException) -> ClusterFailed:
    """The error of an address at which there is no cluster of this kind."""
    reason = " ".join(str(error).split())[:200]
    return ClusterFailed(f"{backend}: no {kind} answers there: {reason}")


class Call(Protocol):
    """A task on a worker. Its methods raise `ClusterFailed` if the worker is gone."""

    def done(self, seconds: float) -> bool:
        """Wait at most this long, and say whether it has ended."""

    def result(self) -> Any:
        """Return value of the task."""

    def cancel(self) -> None:
        """Let it end; does not wait for that."""


class Cluster(Protocol):
    """A connection to a cluster."""

    def workers(self) -> Mapping[str, str]:
        """Addresses of the workers by name."""

    def start(self, name: str, task: Task, *arguments: Any) -> Call:
        """Start a task on the worker of this name, and on no other."""

    def close(self) -> None:
        """End the connection, and the tasks that it has started."""


def check_backend(backend: str) -> None:
    """Raise `InvalidInput` for anything but local, ray, ray://HOST:PORT and dask://HOST:PORT."""
    scheme, separator, _ = backend.partition("://")
    valid = backend in (LOCAL, "ray")
    if separator and scheme in _BACKENDS:
        with contextlib.suppress(ValueError):
            parts = urlsplit(backend)
            valid = bool(
                parts.hostname and parts.port and parts.netloc == backend[len(scheme) + 3 :]
            )
    if not valid:
        raise InvalidInput(
            f"`backend` is {backend!r}, expected local, ray, ray://HOST:PORT or dask://HOST:PORT"
        )


def connect_cluster(backend: str) -> Cluster:
    """Connect to an existing cluster.

    Args:
        backend: `ray`, `ray://HOST:PORT` or `dask://HOST:PORT`.

    Raises:
        InvalidInput: If the backend is malformed, or its package is not installed.
        ClusterFailed: If nothing answers.
    """
    check_backend(backend)
    parts = urlsplit(backend)
    if parts.hostname is not None:
        try:
            socket.create_connection((parts.hostname, parts.port or 0), ANSWER).close()
        except OSError as error:
            reason = error.strerror or error
            raise ClusterFailed(f"{backend}: no cluster can be reached there: {reason}") from None
    module = import_module(_BACKENDS[backend.partition("://")[0]])
    cluster: Cluster = module.connect(backend)
    return cluster


def package_of(backend: str, name: str) -> ModuleType:
    """The package that a backend needs.

    Raises:
        InvalidInput: If it is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        extra = backend.partition("://")[0]
        raise InvalidInput(
            f"{backend}: the package {name} is not installed; in a checkout of surefoot: "
            f"pip install '.[{extra}]'"
        ) from None


def check_workers(backend: str, study_file: StudyFile, most: int | None) -> list[str]:
    """Check that workers of a cluster can run the objective of a study file.

    Args:
        backend: The cluster.
        study_file: The study file.
        most: Number of workers to use, None for all.

    Returns:
        The names of the workers to use, sorted.

    Raises:
        InvalidInput: If the backend is malformed, or its package is not installed.
        StudyFileError: If a worker cannot run the objective.
        ClusterFailed: If the cluster cannot be reached, has no worker or is gone.
    """
    check_backend(backend)
    if study_file.objective.keep:
        raise study_file.error(
            "objective.keep", "got true, expected false with --backend: a cluster keeps no process"
        )
    with contextlib.closing(connect_cluster(backend)) as cluster:
        names = sorted(cluster.workers())[:most]
        if not names:
            raise ClusterFailed(f"{backend}: the cluster has no worker")
        objective = _objective_of(study_file)
        calls = [cluster.start(one, _check, objective, study_file.folder) for one in names]
        for name, call in zip(names, calls, strict=True):
            while not call.done(POLL):
                pass
            if problem := call.result():
                key, message = problem
                raise study_file.error(key, f"on worker {name}: {message}")
    return names


class ClusterObjective:
    """Measures configurations on one worker of a cluster.

    The command or function runs on the worker as it would here, with its timeout, and is ended
    there when this process is told to stop or dies.

    Args:
        backend: The cluster.
        name: The name of the worker.
        study_file: The study file.

    Raises:
        ClusterFailed: If the cluster cannot be reached.
    """

    def __init__(self, backend: str, name: str, study_file: StudyFile) -> None:
        self._key = uuid.uuid4().hex
        self._objective = _objective_of(study_file)
        self._name = name
        self._cluster = connect_cluster(backend)

    def check(self) -> None:
        """Nothing: `check_workers` has done that."""

    def measure(
        self, params: Mapping[str, Any], stop: Stop, race: Ending = NO_RACE
    ) -> Measurement | Failure:
        """Measure on the worker; raises `ClusterFailed` if it is gone."""
        call = self._cluster.start(
            self._name, _measure, self._key, self._objective, dict(params), race
        )
        try:
            while not call.done(POLL):
                stop.check()
            result: Measurement | Failure = call.result()
        except BaseException:
            with contextlib.suppress(Exception):
                call.cancel()
            raise
        return result

    def close(self) -> None:
        """End the function's process on the worker, if it answers, and the connection."""
        with contextlib.suppress(Exception):
            self._cluster.start(self._name, _close, self._key).done(1.0)
        with contextlib.suppress(Exception):
            self._cluster.close()


class _OnWorker:
    """State of a worker's process between tasks: one objective, used by one at a time."""

    def __init__(self) -> None:
        self.busy = threading.Lock()
        self._key = ""
        self._objective: Objective | None = None
        self._used = 0.0

    def use(self, key: str, objective: Objective) -> Objective:
        """The objective that has this key; that of another key is closed."""
        if self._objective is None or key != self._key:
            self.close()
            self._key, self._objective = key, objective
        self._used = time.monotonic()
        timer = threading.Timer(IDLE, self._close_idle)
        timer.daemon = True
        timer.start()
        return self._objective

    def close(self, key: str | None = None) -> None:
        """End the objective, or that of a key."""
        if self._objective is not None and key in (None, self._key):
            self._objective.close()
            self._objective = None

    def _close_idle(self) -> None:
        if self.busy.acquire(blocking=False):
            try:
                if time.monotonic() - self._used >= IDLE:
                    self.close()
            finally:
                self.busy.release()


_here = _OnWorker()


def _measure(
    cancelled: Callable[[], bool],
    key: str,
    objective: Objective,
    params: dict[str, Any],
    race: Ending,
) -> Measurement | Failure:
    def look() -> None:
        if cancelled():
            raise ClusterFailed("the measurement was cancelled")

    stop = Stop(look)
    while not _here.busy.acquire(timeout=POLL):
        stop.check()
    try:
        stop.check()
        return _here.use(key, objective).measure(params, stop, race)
    finally:
        _here.busy.release()


def _check(
    cancelled: Callable[[], bool], objective: Objective, folder: Path
) -> tuple[str | None, str] | None:
    """Key of the study file and message, if the objective cannot run on this worker."""
    if not folder.is_dir():
        return "objective", f"the folder {folder} of the study file is not there"
    try:
        with contextlib.closing(objective):
            objective.check()
    except InvalidCommand as error:
        return error.key, str(error)
    return None


def _close(cancelled: Callable[[], bool], key: str) -> None:
    if _here.busy.acquire(timeout=POLL):
        try:
            _here.close(key)
        finally:
            _here.busy.release()


def _objective_of(study_file: StudyFile) -> Objective:
    return objective_of(study_file, KeptProcesses(-1, -1))

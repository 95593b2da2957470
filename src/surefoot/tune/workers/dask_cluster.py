"""Tasks on the workers of a Dask cluster."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Mapping
from typing import Any

from surefoot.tune.workers.cluster import (
    ANSWER,
    Connection,
    Task,
    no_answer,
    package_of,
)

PAUSE = 0.02  # seconds between looks at a future
LOOK = 1.0  # seconds between looks at whether the worker is still there


class DaskCluster:
    """A client of a Dask scheduler.

    Args:
        backend: The backend, for messages.
        client: The client.
    """

    def __init__(self, backend: str, client: Any) -> None:
        self.connection = Connection(backend, _summary)
        self.client = client
        self._addresses: dict[str, str] = {}

    def workers(self) -> Mapping[str, str]:
        """Addresses of the workers by name."""
        with self.connection.errors():
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
        return {str(info["name"]): address for address, info in workers.items()}

    def start(self, name: str, task: Task, *arguments: Any) -> DaskCall:
        """Start a task on the worker of this name.

        A worker that was restarted since the first task has another address, and counts as gone.
        """
        address = self._addresses.get(name) or self.workers().get(name)
        if address is None:
            raise self.connection.worker_gone(name)
        self._addresses[name] = address
        with self.connection.errors():
            future = self.client.submit(
                _call,
                task,
                *arguments,
                workers=[address],
                allow_other_workers=False,
                pure=False,
                retries=0,
            )
        return DaskCall(self, name, address, future)

    def close(self) -> None:
        """Close the client, upon which the scheduler cancels its tasks."""
        self.client.close(timeout=2)


class DaskCall:
    """A task and its future."""

    def __init__(self, cluster: DaskCluster, name: str, address: str, future: Any) -> None:
        self._cluster, self._name, self._address = cluster, name, address
        self._future = future
        self._due = time.monotonic() + LOOK

    def done(self, seconds: float) -> bool:
        """Wait at most this long; a worker that is gone is an error."""
        deadline = time.monotonic() + seconds
        while not self._future.done() and time.monotonic() < deadline:
            time.sleep(PAUSE)
        if self._future.done():
            return True
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + LOOK
            if self._address not in self._cluster.workers().values():
                raise self._cluster.connection.worker_gone(self._name)
        return False

    def result(self) -> Any:
        """Return value of the task."""
        with self._cluster.connection.errors(BaseException):
            return self._future.result()

    def cancel(self) -> None:
        """Let the task end: it looks at its state on the worker."""
        self._future.cancel()


def connect(backend: str) -> DaskCluster:
    """Connect to a scheduler."""
    distributed = package_of(backend, "distributed")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    address = backend.replace("dask://", "tcp://", 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # versions that differ: a task would say so
            client = distributed.Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError, distributed.CommClosedError) as error:
        raise no_answer(backend, "Dask scheduler", error) from None
    return DaskCluster(backend, client)


def _summary(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300].rstrip(": ")


def _call(task: Task, *arguments: Any) -> Any:
    """Run a task on the worker; it is cancelled once the scheduler has released its key."""
    distributed = package_of("dask", "distributed")
    worker = distributed.get_worker()
    key = worker.get_current_task()

    def cancelled() -> bool:
        state = worker.state.tasks.get(key)
        return state is None or state.state in ("cancelled", "resumed")

    return task(cancelled, *arguments)

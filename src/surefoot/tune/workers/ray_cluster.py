"""Tasks on the nodes of a Ray cluster."""

from __future__ import annotations

import logging
import signal
from collections.abc import Mapping
from typing import Any

from surefoot.tune.workers.cluster import (
    Connection,
    Task,
    no_answer,
    package_of,
)


class RayCluster:
    """A driver of a Ray cluster, with an actor on each node that it uses.

    Ray ends the actors, and so their measurements, when the driver ends or dies.

    Args:
        backend: The backend, for messages.
        ray: The package.
    """

    def __init__(self, backend: str, ray: Any) -> None:
        self.connection = Connection(backend, _summary)
        self.ray = ray
        self._actors: dict[str, Any] = {}

    def workers(self) -> Mapping[str, str]:
        """Ids of the nodes with a processor, by name."""
        with self.connection.errors():
            nodes = self.ray.nodes()
        usable = [one for one in nodes if one["Alive"] and one["Resources"].get("CPU", 0) >= 1]
        names = [one.get("NodeName") or one["NodeManagerHostname"] for one in usable]
        return {
            name if names.count(name) == 1 else f"{name}/{one['NodeID'][:8]}": one["NodeID"]
            for name, one in zip(names, usable, strict=True)
        }

    def start(self, name: str, task: Task, *arguments: Any) -> RayCall:
        """Start a task on the node of this name."""
        if name not in self._actors:
            self._actors[name] = self._actor(name)
        with self.connection.errors():
            reference = self._actors[name].call.remote(task, *arguments)
        return RayCall(self, reference, self._actors[name])

    def close(self) -> None:
        """End the driver and its actors."""
        self.ray.shutdown()

    def _actor(self, name: str) -> Any:
        node = self.workers().get(name)
        if node is None:
            raise self.connection.worker_gone(name)
        with self.connection.errors():
            strategies = package_of(self.connection.backend, "ray.util.scheduling_strategies")
            pinned = strategies.NodeAffinitySchedulingStrategy(node_id=node, soft=False)
            options = {"num_cpus": 1, "max_restarts": 0, "scheduling_strategy": pinned}
            return self.ray.remote(Measurer).options(**options).remote()


class RayCall:
    """A task and its reference."""

    def __init__(self, cluster: RayCluster, reference: Any, actor: Any) -> None:
        self._cluster, self._reference, self._actor = cluster, reference, actor

    def done(self, seconds: float) -> bool:
        """Wait at most this long."""
        with self._cluster.connection.errors():
            ready, _ = self._cluster.ray.wait([self._reference], timeout=seconds)
        return bool(ready)

    def result(self) -> Any:
        """Return value of the task."""
        with self._cluster.connection.errors():
            return self._cluster.ray.get(self._reference)

    def cancel(self) -> None:
        """Kill the actor's process, with which its measurement ends."""
        self._cluster.ray.kill(self._actor)


class Measurer:
    """The actor: runs one task at a time."""

    def call(self, task: Task, *arguments: Any) -> Any:
        """Run a task."""
        return task(_never, *arguments)


def connect(backend: str) -> RayCluster:
    """Connect to a cluster, that of this machine if the backend has no address."""
    ray = package_of(backend, "ray")
    address = "auto" if backend == "ray" else backend
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise no_answer(backend, "Ray cluster", error) from None
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)  # Ray installs its own
    return RayCluster(backend, ray)


def _summary(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"{type(error).__name__}: {lines[0][:300]}"


def _never() -> bool:
    return False

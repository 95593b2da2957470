"""Processes that hold parts of the arms: of Ray, of Dask, or this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from surefoot._internal.extras import extra
from surefoot.regression.shard import Command, Shard
from surefoot.types import NotReady

Part = tuple[Any, ...]  # arguments of `Shard`


class Lost(Exception):
    """A worker is gone, with all it held."""


class Workers(Protocol):
    """Workers, each of which holds a `Shard`."""

    def start(self, index: int, part: Part) -> Any:
        """A worker with a part of the arms, in place of one of that number that is lost."""
        ...

    def submit(self, worker: Any, commands: list[Command]) -> Callable[[], Any]:
        """Run commands; what is returned waits for the result of the last one.

        Raises:
            Lost: In either, if the worker is gone.
        """
        ...


class LocalWorkers:
    """Parts in this process."""

    def start(self, index: int, part: Part) -> Shard:
        """The part itself."""
        return Shard(*part)

    def submit(self, worker: Shard, commands: list[Command]) -> Callable[[], Any]:
        """Run commands at once."""
        result = worker.run(commands)
        return lambda: result


class RayWorkers:
    """Actors of Ray.

    Args:
        number: How many there will be.
        address: HOST:PORT of a Ray client server; empty for the Ray that runs, or one on this
            machine.
    """

    def __init__(self, number: int, address: str) -> None:
        with extra("ray"):
            import ray
        self._ray = ray
        if address:
            with _answering(f"ray://{address}"):
                ray.init(f"ray://{address}", ignore_reinit_error=True, log_to_driver=False)
        elif not ray.is_initialized():
            ray.init(num_cpus=number, include_dashboard=False, log_to_driver=False)
        # No CPU is reserved: one run that has yet to be collected would block the next.
        self._actor = ray.remote(num_cpus=0, scheduling_strategy="SPREAD")(Shard)

    def start(self, index: int, part: Part) -> Any:
        """An actor."""
        return self._actor.remote(*part)

    def submit(self, worker: Any, commands: list[Command]) -> Callable[[], Any]:
        """Run commands in an actor."""
        reference = worker.run.remote(commands)

        def result() -> Any:
            try:
                return self._ray.get(reference)
            except self._ray.exceptions.RayActorError as error:
                raise Lost from error

        return result


class DaskWorkers:
    """Actors of Dask, each on a worker of its own as far as there are as many.

    Args:
        number: How many there will be.
        address: HOST:PORT of a scheduler; empty for one on this machine.
    """

    def __init__(self, number: int, address: str) -> None:
        with extra("dask"):
            import distributed
        self._futures: dict[int, Any] = {}  # an actor lives as long as its own
        if address:
            with _answering(f"dask://{address}"):
                self._client = distributed.Client(f"tcp://{address}", set_as_default=False)
        else:
            self._client = distributed.Client(
                n_workers=number,
                threads_per_worker=1,
                dashboard_address=None,
                set_as_default=False,
            )

    def start(self, index: int, part: Part) -> Any:
        """An actor."""
        addresses = sorted(self._client.scheduler_info(n_workers=-1)["workers"])
        if not addresses:
            self._client.wait_for_workers(1)
            addresses = sorted(self._client.scheduler_info(n_workers=-1)["workers"])
        address = addresses[index % len(addresses)]
        # Elsewhere too: Dask waits for a place where a worker that was lost can be started again.
        made = self._futures[index] = self._client.submit(
            Shard, *part, actor=True, pure=False, workers=[address], allow_other_workers=True
        )
        with self._client.as_current():
            return made.result()

    def submit(self, worker: Any, commands: list[Command]) -> Callable[[], Any]:
        """Run commands in an actor."""
        future = self._guarded(lambda: worker.run(commands))
        return lambda: self._guarded(future.result)

    def _guarded(self, call: Callable[[], Any]) -> Any:
        try:
            with self._client.as_current():
                return call()
        except (OSError, ValueError) as error:  # of a lost connection, and of a lost actor
            raise Lost from error


@contextmanager
def _answering(address: str) -> Iterator[None]:
    """Say that nothing answers at an address, whatever its library says."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise NotReady(
            f"nothing answers at {address} ({type(error).__name__}): start the cluster there, or "
            "check the address."
        ) from error


def workers_of(backend: str, number: int) -> Workers:
    """Workers of a backend, see `spaces.Sharded`."""
    name, _, address = backend.partition("://")
    match name:
        case "ray":
            return RayWorkers(number, address)
        case "dask":
            return DaskWorkers(number, address)
    return LocalWorkers()

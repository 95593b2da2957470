"""Where trials are played: this process, processes of this machine, a Dask or a Ray cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from surefoot.types import InvalidInput
from surefoot_experiments.experiment import Rows, Trial
from surefoot_experiments.optional import optional
from surefoot_experiments.orphans import end_with

LOCAL = "loky"
_SCHEMES = ("dask", "ray")
_AS_THEY_FINISH = "generator_unordered"
_PATIENCE = "10s"  # for a scheduler to answer


def check_backend(backend: str) -> None:
    """`InvalidInput` for anything but loky, dask://HOST:PORT and ray://HOST:PORT."""
    scheme, _, address = backend.partition("://")
    if backend != LOCAL and (scheme not in _SCHEMES or not address):
        raise InvalidInput(
            f"`backend` is {backend!r}, expected loky, dask://HOST:PORT or ray://HOST:PORT."
        )


def play_all(
    play: Callable[[Trial], Rows], trials: Iterable[Trial], jobs: int, backend: str = LOCAL
) -> Iterator[tuple[int, Rows, float]]:
    """Number, rows and seconds of each trial, as they finish.

    `jobs` processes of this machine, or all workers of a cluster, which need the same packages.
    """
    joblib = optional("joblib", "an experiment")
    parent = os.getpid() if backend == LOCAL else None
    tasks = [joblib.delayed(_timed)(play, trial, parent) for trial in trials]
    with _connected(backend):
        if backend == LOCAL:
            yield from joblib.Parallel(jobs, backend=LOCAL, return_as=_AS_THEY_FINISH)(tasks)
        elif backend.startswith("dask"):
            yield from joblib.Parallel(return_as=_AS_THEY_FINISH)(tasks)
        else:  # Ray's joblib backend gives results back in lists only
            workers = joblib.effective_n_jobs()
            for first in range(0, len(tasks), workers):
                yield from joblib.Parallel()(tasks[first : first + workers])


def _timed(
    play: Callable[[Trial], Rows], trial: Trial, parent: int | None
) -> tuple[int, Rows, float]:
    if parent is not None:
        end_with(parent)
    started = time.perf_counter()
    rows = play(trial)
    return trial.number, rows, time.perf_counter() - started


@contextmanager
def _connected(backend: str) -> Iterator[None]:
    check_backend(backend)
    scheme, _, address = backend.partition("://")
    joblib = optional("joblib", "an experiment")
    if scheme == "dask":
        with _dask_client(address), joblib.parallel_config("dask", n_jobs=-1):
            yield
    elif scheme == "ray":
        _connect_ray(address)
        with joblib.parallel_config("ray", n_jobs=-1):
            yield
    else:
        yield


def _dask_client(address: str) -> Any:
    distributed = optional("distributed", "a Dask cluster")
    try:
        return distributed.Client(f"tcp://{address}", timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"dask://{address}: no scheduler answers there: {error}") from None


def _connect_ray(address: str) -> None:
    ray = optional("ray", "a Ray cluster")
    register = optional("ray.util.joblib", "a Ray cluster").register_ray
    try:
        ray.init(address=f"ray://{address}", ignore_reinit_error=True)
    except (ConnectionError, ValueError) as error:
        raise InvalidInput(f"ray://{address}: no cluster answers there: {error}") from None
    register()

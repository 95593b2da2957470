"""Where trials run: in this process, in processes of this machine, on a Dask or a Ray cluster."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

import joblib
import torch

from surefoot import InvalidInput
from surefoot_experiments.harness.store import Record, source_fingerprint
from surefoot_experiments.harness.trial import Rows, Trial

LOCAL = "loky"
_SCHEMES = ("dask", "ray")
_AS_COMPLETED = "generator_unordered"
_TIMEOUT = "10s"  # for a scheduler to answer
_POLL = 1.0  # seconds between two looks at the parent process


def check_backend(backend: str) -> None:
    """`InvalidInput` for anything but loky, dask://HOST:PORT and ray://HOST:PORT."""
    scheme, _, address = backend.partition("://")
    if backend != LOCAL and (scheme not in _SCHEMES or not address):
        raise InvalidInput(
            f"`backend` is {backend!r}, expected loky, dask://HOST:PORT or ray://HOST:PORT."
        )


def run_trials(
    run: Callable[[Trial], Rows], trials: Iterable[Trial], jobs: int, backend: str = LOCAL
) -> Iterator[Record]:
    """Run trials, and yield the record of each as it completes.

    Args:
        run: Runs one trial.
        trials: The trials.
        jobs: Number of processes on this machine; a cluster uses all of its workers.
        backend: loky, dask://HOST:PORT or ray://HOST:PORT.

    Raises:
        InvalidInput: The backend is malformed, not installed or does not answer.
    """
    check_backend(backend)
    parent = os.getpid() if backend == LOCAL else None
    tasks = [joblib.delayed(_record)(run, trial, parent) for trial in trials]
    with _connected(backend):
        if backend == LOCAL:
            yield from joblib.Parallel(jobs, backend=LOCAL, return_as=_AS_COMPLETED)(tasks)
        elif backend.startswith("dask"):
            yield from joblib.Parallel(return_as=_AS_COMPLETED)(tasks)
        else:  # Ray's joblib backend returns lists only
            workers = joblib.effective_n_jobs()
            for first in range(0, len(tasks), workers):
                yield from joblib.Parallel()(tasks[first : first + workers])


def _record(run: Callable[[Trial], Rows], trial: Trial, parent: int | None) -> Record:
    """One trial on one thread: its matrices are small, and other processes use the other cores."""
    if parent not in (None, os.getpid()):
        _exit_with(parent)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    started = time.perf_counter()
    try:
        tables = run(trial)
    finally:
        torch.set_num_threads(threads)
    seconds = time.perf_counter() - started
    return Record(
        case=trial.case,
        trial=trial.number,
        seconds=seconds,
        sources=[source_fingerprint()],
        tables=dict(tables),
    )


@cache
def _exit_with(parent: int) -> None:
    """End this worker when its parent process has ended.

    A process that is killed cannot stop its workers, which would go on with trials whose results
    nobody collects. Windows keeps the number of a parent that has ended, so nothing is done there.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_POLL)
        os._exit(1)

    if sys.platform != "win32":
        threading.Thread(target=watch, daemon=True, name="exit-with-parent").start()


@contextmanager
def _connected(backend: str) -> Iterator[None]:
    scheme, _, address = backend.partition("://")
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
    distributed = _cluster_package("distributed")
    try:
        return distributed.Client(f"tcp://{address}", timeout=_TIMEOUT)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"dask://{address}: no scheduler answers: {error}") from None


def _connect_ray(address: str) -> None:
    ray, register = _cluster_package("ray"), _cluster_package("ray.util.joblib").register_ray
    try:
        ray.init(address=f"ray://{address}", ignore_reinit_error=True)
    except (ConnectionError, ValueError) as error:
        raise InvalidInput(f"ray://{address}: no cluster answers: {error}") from None
    register()


def _cluster_package(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise InvalidInput(
            f"this backend needs {module.partition('.')[0]}; in a checkout of surefoot: "
            "pip install -e './experiments[cluster]'"
        ) from None

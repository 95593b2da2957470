"""Runs do not depend on settings of the process, and leave them as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

import surefoot as sf
from support.process_settings import default_dtype
from surefoot._internal.threads import one_thread
from surefoot.acquisition.replication import _small_range
from surefoot.tune.comparison.comparison import differences_of

BOX = sf.Box([0.0, 0.0], [1.0, 1.0])
ARMS = torch.linspace(0.0, 1.0, 12, dtype=torch.float64).unsqueeze(-1)
JOINT = sf.Joint(sf.Arms(ARMS), sf.FiniteEnvironment([0.0, 1.0]))
KERNEL = sf.kernels.squared_exponential(0.3)


@contextmanager
def two_threads() -> Iterator[None]:
    """Of PyTorch, and of the linear algebra of NumPy and SciPy."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with threadpool_limits(2, "blas"):
            yield
            blas = [one for one in threadpool_info() if one["user_api"] == "blas"]
            assert {one["num_threads"] for one in blas} == {2}
    finally:
        assert torch.get_num_threads() == 2
        torch.set_num_threads(before)


SETTINGS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "inference mode": torch.inference_mode,
    "no gradients": torch.no_grad,
    "default dtype": default_dtype,
    "default device": lambda: torch.device("meta"),
    "two threads": two_threads,
    "floating-point errors": lambda: np.errstate(all="raise"),
}
RUNS: dict[str, Callable[[], sf.Optimizer]] = {
    "default": lambda: sf.algorithms.robust_ucb(BOX, initial=4, seed=1),
    "arms": lambda: sf.algorithms.ata_gp_ucb(
        sf.Arms(ARMS),
        KERNEL,
        moment=sf.Moment(1.0, 4.0),
        features=sf.QuadratureFourier(8, folded=False),
    ),
    "sketch": lambda: sf.algorithms.bkb(sf.Arms(ARMS), KERNEL, noise=0.1, oversampling=3.0),
    "risk": lambda: sf.algorithms.v_ucb(JOINT, KERNEL, level=0.3, ridge=0.1),
}


def play(make: Callable[[], sf.Optimizer], setting: Callable[[], Any], path: Any) -> list[float]:
    """Numbers of a run whose every call is under a setting; rewards are computed outside.

    Other last digits are met in a matrix of five rows or more, so that there are more rewards.
    """
    numbers: list[float] = []
    with setting():
        optimizer = make()
    for step in range(14):
        with setting():
            query = optimizer.ask()
        numbers += query.point.tolist()
        with setting():
            optimizer.tell(query, (step * 7 % 5) / 5.0 + sum(query.point.tolist()))
    with setting():
        optimizer.save(path)
        optimizer = sf.Optimizer.load(path)
        best = optimizer.recommend()
        belief = optimizer.belief()
        ends = belief.predict(best.point.unsqueeze(0))
        draws = None
        if not optimizer.space.has_environment:
            draws = belief.draws(best.point.unsqueeze(0), 3)
    numbers += [best.value, best.lower, best.upper, *(float(end) for end in ends)]
    numbers += [] if draws is None else draws.flatten().tolist()
    asked = optimizer.ask()  # outside: nothing that was made under the setting is in the way
    return numbers + asked.point.tolist()


@pytest.mark.daily(3)
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_run_is_the_same_under_any_setting(run: str, setting: str, tmp_path: Any) -> None:
    usual = play(RUNS[run], lambda: torch.enable_grad(), tmp_path / "usual")
    assert play(RUNS[run], SETTINGS[setting], tmp_path / "other") == usual


def test_python_threads_are_on_one_thread_each_and_give_the_numbers_back(tmp_path: Any) -> None:
    """Also where the first one to enter leaves first, and after a call in the main one."""
    numbers, seen = [], set()

    def settings() -> tuple[int, ...]:
        found = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
        return torch.get_num_threads(), *found

    def enter(first: Event, last: Event) -> None:
        torch.set_num_threads(2)
        with one_thread():
            first.set()
            seen.add(settings())
            last.wait()
            seen.add(settings())
            with one_thread():
                seen.add(settings())
            seen.add(settings())
        numbers.append(torch.get_num_threads())

    with two_threads():
        before = settings()
        play(RUNS["default"], nullcontext, tmp_path / "run")
        entered, left = [Event(), Event()], [Event(), Event()]
        threads = [Thread(target=enter, args=pair) for pair in zip(entered, left, strict=True)]
        for thread, event in zip(threads, entered, strict=True):
            thread.start()
            event.wait()
        for thread, event in zip(threads, left, strict=True):
            event.set()
            thread.join()
        assert settings() == before
    assert {*before} == {2}
    assert seen == {(1,) * len(before)}
    assert numbers == [2, 2]


def test_numpys_errors_of_the_caller_disturb_no_rare_parts() -> None:
    _small_range.cache_clear()
    with np.errstate(all="raise"):
        assert _small_range(4) > 0.0
        assert differences_of(np.array([[1.0, 1.0 + 1e-9], [0.0, np.inf]])).tolist()[1] == np.inf

"""Threads that share an optimizer or a bandit: one call waits for the other."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

import surefoot as sf
from surefoot._internal.lock import Lock
from surefoot.types import Measurement

SQUARE = sf.Box([0.0, 0.0], [1.0, 1.0])


def started() -> sf.Optimizer:
    optimizer = sf.algorithms.robust_ucb(SQUARE, seed=0, initial=2)
    for _ in range(3):
        optimizer.tell(optimizer.ask(), 1.0)
    return optimizer


OPTIMIZER: dict[str, Callable[[Any, Path], Any]] = {
    "ask": lambda one, _: one.ask(),
    "ask_batch": lambda one, _: one.ask_batch(2),
    "expect": lambda one, _: one.expect([0.5, 0.5]),
    "tell": lambda one, _: one.tell([0.5, 0.5], 1.0),
    "tell_all": lambda one, _: one.tell_all([[0.5, 0.5]], [1.0]),
    "record": lambda one, _: one.record([Measurement([0.5, 0.5], {"objective": 1.0})]),
    "forget": lambda one, _: one.forget([0.5, 0.5]),
    "belief": lambda one, _: one.belief(),
    "recommend": lambda one, _: one.recommend(),
    "save": lambda one, folder: one.save(folder / "run.surefoot"),
    "reseed": lambda one, _: one.reseed(3),
    "constraints": lambda one, _: one.constraints,
    "shared_failures": lambda one, _: one.shared_failures,
    "width": lambda one, _: one.width,
    "pending": lambda one, _: one.pending,
}
OPTIONS = [[1.0, 0.0], [0.0, 1.0]]
BANDIT: dict[str, Callable[[Any, Path], Any]] = {
    "decide": lambda one, _: one.decide(OPTIONS),
    "tell": lambda one, _: one.tell(one.decide(OPTIONS), 1.0),
    "learn": lambda one, _: one.learn(OPTIONS[0], 1.0),
    "forget": lambda one, _: one.forget(one.decide(OPTIONS)),
    "mean": lambda one, _: one.mean(OPTIONS),
    "probabilities": lambda one, _: one.probabilities(OPTIONS),
}
NAMES = [*OPTIMIZER, *(f"{name} of a bandit" for name in BANDIT)]
CALLS = [(started, call) for call in OPTIMIZER.values()] + [
    (lambda: sf.bandits.contextual(2), call) for call in BANDIT.values()
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("make", "call"), CALLS, ids=[*OPTIMIZER, *(f"{n} of a bandit" for n in BANDIT)]
)
def test_a_call_waits_for_the_other_threads(make: Any, call: Any, tmp_path: Path) -> None:
    shared, order = make(), []

    def late() -> None:
        call(shared, tmp_path)
        order.append("second")

    with ThreadPoolExecutor(1) as other:
        with shared._lock:
            waiting = other.submit(late)
            threading.Event().wait(0.02)
            order.append("first")
        waiting.result()
    assert order == ["first", "second"]


@pytest.fixture
def switching_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.long
@pytest.mark.usefixtures("switching_often")
def test_no_reward_is_lost() -> None:
    arms = torch.linspace(0.0, 1.0, 40).unsqueeze(-1)
    optimizer = sf.Optimizer(sf.Arms(arms), sf.Method(sf.kernels.matern(0.5, 1)), seed=0)

    def work(_: int) -> None:
        for turn in range(10):
            query = optimizer.ask()
            if turn % 5 == 4:
                optimizer.forget(query)
            else:
                optimizer.tell(query, -float((query.point - 0.3).square().sum()))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert len(optimizer.history) == int(optimizer.history.counts.sum()) == 32
    assert not optimizer.pending


@pytest.mark.long
def test_copies_have_locks_of_their_own() -> None:
    optimizer = started()
    copies = [copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))]
    with ThreadPoolExecutor(1) as other, optimizer._lock:
        points = [other.submit(one.ask).result(timeout=60).point.tolist() for one in copies]
    assert points[0] == points[1] == optimizer.ask().point.tolist()
    assert isinstance(copies[0]._lock, Lock)

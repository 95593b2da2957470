"""For the tests of surefoot and of its experiments."""

from __future__ import annotations

import gc
import math
import os
import sys
from collections.abc import Generator, Iterator

import pytest

# The matrices are small, and the processes of a parallel run already use every core.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Modules are compiled once, not in each of the many processes that the tests start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays: the collector need not look at it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def of_each_day(number: int, cases: int) -> set[int]:
    """Some of the cases of a test, spread so that those of a product of tables differ in each."""
    step = next(n for n in range(max(cases // number, 1), cases + 2) if math.gcd(n, cases) == 1)
    return {index * step % cases for index in range(min(number, cases))}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All cases but some of a test that is marked `daily` are long."""
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("daily"):
            tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in tables.values():
        marker = cases[0].get_closest_marker("daily")
        assert marker is not None
        daily = of_each_day(marker.args[0], len(cases))
        for index, item in enumerate(cases):
            if index not in daily:
                item.add_marker("long")


@pytest.fixture(scope="session", autouse=True)
def _nothing_waits_for_the_disk() -> Iterator[None]:
    """Tests end processes, not machines: what they write need not reach the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        yield

"""For the tests of surefoot and of its experiments."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays: the collector need not look at it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()

"""One thread: the matrices of the tests are small, and results must not depend on the machine."""

import gc

import pytest


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _modules_are_no_garbage() -> None:
    """What was imported stays: the collector need not look at it again and again."""
    gc.collect()
    gc.freeze()

"""One thread: the matrices of the tests are small, and results must not depend on the machine."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)

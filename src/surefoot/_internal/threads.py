"""Single-threaded execution of work on small matrices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Set torch's intra-op threads to one inside, and restore the setting afterwards.

    Fits and gradient ascents are thousands of operations on matrices of a few hundred rows, and
    synchronising a second thread for each costs more than it saves: on two cores a fit of 60
    rewards took 5.7 s with two threads and 0.08 s with one.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

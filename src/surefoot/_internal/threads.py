"""One thread for operations on small matrices."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch


class one_thread:  # noqa: N801
    """Context in which torch runs on one intra-op thread; the previous number is restored.

    A round is dozens, and a fit thousands, of operations on matrices of a few hundred rows. To wake
    a second thread for each costs more than it saves: on two cores of which another process used
    one, a fit of 60 rewards took 5.7 s with two threads and 0.08 s with one.

    Example:
        >>> with one_thread():
        ...     torch.get_num_threads()
        1
    """

    def __enter__(self) -> None:
        self._before = torch.get_num_threads()
        if self._before != 1:
            torch.set_num_threads(1)

    def __exit__(self, *exception: object) -> None:
        if self._before != 1:
            torch.set_num_threads(self._before)


def one_blas_thread() -> Any:
    """Context in which the OpenBLAS of SciPy and NumPy runs on one thread.

    It has threads of its own, which `one_thread` does not reach, and which wait for their next call
    in a loop: a run of 30 rounds in a box took twice the CPU time with them. With a second process
    on the two cores, one of twenty pivoted factorisations of 256 rows took 0.4 s instead of 1 ms.
    Entering takes 20 us, so that it is for operations that take longer.

    Example:
        >>> with one_blas_thread():
        ...     pass
    """
    return _openblas().limit(limits=1)


@cache
def _openblas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(internal_api="openblas")

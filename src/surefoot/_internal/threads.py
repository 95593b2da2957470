"""One thread for operations on small matrices."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch


class one_thread:  # noqa: N801
    """Context in which torch, NumPy and SciPy run on one thread; the numbers before are restored.

    A round is dozens, and a fit thousands, of operations on matrices of a few hundred rows. To wake
    a second thread for each costs more than it saves: on two cores of which another process used
    one, a fit of 60 rewards took 5.7 s with two threads and 0.08 s with one. The OpenBLAS of NumPy
    and SciPy has threads of its own, which wait for their next call in a loop, and results of other
    last digits with them. Entering takes 4 us, where there is one thread already 1 us.

    Example:
        >>> with one_thread():
        ...     torch.get_num_threads()
        1
    """

    def __enter__(self) -> None:
        self._before = [(one, n) for one in _libraries() if (n := one.get_num_threads()) != 1]
        for one, _ in self._before:
            one.set_num_threads(1)

    def __exit__(self, *exception: object) -> None:
        for one, number in self._before:
            one.set_num_threads(number)


@cache
def _libraries() -> list[Any]:
    """PyTorch, and the OpenBLAS of NumPy and of SciPy."""
    import scipy.linalg  # noqa: F401  # which loads its own
    from threadpoolctl import ThreadpoolController

    return [torch, *ThreadpoolController().select(internal_api="openblas").lib_controllers]

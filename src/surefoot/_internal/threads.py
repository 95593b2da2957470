"""One thread for operations on small matrices."""

from __future__ import annotations

from functools import cache
from operator import call
from threading import Lock
from typing import Any

import torch

_LOCK = Lock()
_BEFORE: list[list[tuple[Any, int]]] = []
"""Of each context that was entered and not left what gives back the numbers: all of the first."""


class one_thread:  # noqa: N801
    """Context in which torch, NumPy and SciPy run on one thread; the numbers before are restored.

    A round is dozens, and a fit thousands, of operations on matrices of a few hundred rows. To wake
    a second thread for each costs more than it saves: on two cores of which another process used
    one, a fit of 60 rewards took 5.7 s with two threads and 0.08 s with one. The OpenBLAS of NumPy
    and SciPy has threads of its own, which wait for their next call in a loop, and results of other
    last digits with them. Their number is one of the process: the last context gives back what the
    first one found. That of torch is one of each Python thread.

    Example:
        >>> with one_thread():
        ...     torch.get_num_threads()
        1
    """

    def __enter__(self) -> None:
        known, self._before = zip(*_openblas(), strict=True), torch.get_num_threads()
        torch.set_num_threads(1)
        with _LOCK:
            found = [(put, number) for get, put in known if (number := get()) != 1]
            _BEFORE.append([] if _BEFORE else found)
            for put, _ in _BEFORE[-1]:
                put(1)

    def __exit__(self, *exception: object) -> None:
        torch.set_num_threads(self._before)
        with _LOCK:
            for put, number in _BEFORE.pop():
                put(number)


def is_one_thread() -> bool:
    """Whether all run on one thread, which no context has to give back."""
    return not _BEFORE and torch.get_num_threads() == 1 and {1} >= {*map(call, _openblas()[0])}


@cache
def _openblas() -> tuple[list[Any], list[Any]]:
    """What ask for and what set the number of threads of NumPy's and of SciPy's OpenBLAS."""
    import scipy.linalg  # noqa: F401  # which loads its own
    from threadpoolctl import ThreadpoolController

    every = ThreadpoolController().select(internal_api="openblas").lib_controllers
    gets = [_symbol(one, "get_num_threads") for one in every]
    return gets, [_symbol(one, "set_num_threads") for one in every]


def _symbol(library: Any, name: str) -> Any:
    """A function of OpenBLAS itself: that of threadpoolctl 3.8 works in one Python thread only."""
    find = getattr(library, "_get_symbol", None) if library.threading_layer == "pthreads" else None
    return find(f"openblas_{name}") if find else getattr(library, name)

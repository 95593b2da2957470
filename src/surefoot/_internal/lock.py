"""Locks of objects that threads share, and methods that one thread enters at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar


class Lock:
    """Reentrant lock of an object; a copy of the object has one of its own.

    Example:
        >>> import copy
        >>> lock = Lock()
        >>> with lock, copy.deepcopy(lock), lock:
        ...     pass
    """

    def __init__(self) -> None:
        self._held = threading.RLock()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return type(self), ()

    def __enter__(self) -> None:
        self._held.acquire()

    def __exit__(self, *exception: object) -> None:
        self._held.release()


_Owner = TypeVar("_Owner", bound=Any)  # has a `_lock`
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def one_at_a_time(
    method: Callable[Concatenate[_Owner, _Arguments], _Result],
) -> Callable[Concatenate[_Owner, _Arguments], _Result]:
    """The method, which waits while another thread is in one of the same object."""

    @wraps(method)
    def alone(self: _Owner, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with self._lock:
            return method(self, *args, **kwargs)

    return alone

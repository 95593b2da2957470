"""Settings of the process that results must not depend on, entered once around a public call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import ParamSpec, TypeVar

import torch

from surefoot._internal.threads import is_one_thread, one_thread

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class own_settings(one_thread):  # noqa: N801
    """Context with one thread, gradients allowed, and torch's usual default dtype and device.

    The settings of the caller are restored at the end. Tensors that are made in inference mode
    cannot take part in a later ascent, so a run must not be left with any.

    Example:
        >>> import torch
        >>> with torch.inference_mode(), own_settings():
        ...     torch.is_inference_mode_enabled()
        False
    """

    def __enter__(self) -> None:
        self._restore = ExitStack() if _are_usual() else _usual_settings()
        super().__enter__()

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self._restore.close()


def _are_usual() -> bool:
    """Whether all settings but threads are torch's usual ones; a microsecond of each round."""
    return (
        torch.is_grad_enabled()
        and (made := torch.empty(0)).is_cpu
        and made.dtype is torch.float32
        and not made.is_inference()
    )


def _usual_settings() -> ExitStack:
    """Make the settings torch's usual ones; what is returned restores those of the caller."""
    stack = ExitStack()
    stack.enter_context(torch.inference_mode(False))
    stack.enter_context(torch.enable_grad())
    stack.callback(torch.set_default_dtype, torch.get_default_dtype())
    torch.set_default_dtype(torch.float32)
    stack.enter_context(torch.device("cpu"))
    return stack


def with_own_settings(
    function: Callable[_Arguments, _Result],
) -> Callable[_Arguments, _Result]:
    """The function, run in `own_settings`."""

    @wraps(function)
    def guarded(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        if is_one_thread() and _are_usual():
            return function(*args, **kwargs)
        with own_settings():
            return function(*args, **kwargs)

    return guarded

"""Settings of the process that results must not depend on, entered once around a public call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import ParamSpec, TypeVar

import torch

from surefoot._internal.threads import one_thread

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class own_settings:  # noqa: N801
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
        self._stack = stack = ExitStack()
        stack.enter_context(one_thread())
        if torch.is_inference_mode_enabled():
            stack.enter_context(torch.inference_mode(False))
        if not torch.is_grad_enabled():
            stack.enter_context(torch.enable_grad())
        dtype = torch.get_default_dtype()
        if dtype != torch.float32:
            torch.set_default_dtype(torch.float32)
            stack.callback(torch.set_default_dtype, dtype)
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))

    def __exit__(self, *exception: object) -> None:
        self._stack.close()


def with_own_settings(
    function: Callable[_Arguments, _Result],
) -> Callable[_Arguments, _Result]:
    """The function, run in `own_settings`."""

    @wraps(function)
    def guarded(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with own_settings():
            return function(*args, **kwargs)

    return guarded

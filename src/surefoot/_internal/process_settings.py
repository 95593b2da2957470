"""Settings of the process that results must not depend on, entered once around a public call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import torch

from surefoot._internal.threads import one_thread

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_USUAL_ERRORS: Any = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


class own_settings:  # noqa: N801
    """Context with one thread, gradients allowed, and usual settings of torch and NumPy.

    The settings of the caller are restored at the end. Tensors that are made in inference mode
    cannot take part in a later ascent, so a run must not be left with any.

    Example:
        >>> import torch
        >>> with torch.inference_mode(), own_settings():
        ...     torch.is_inference_mode_enabled()
        False
    """

    def __enter__(self) -> None:
        self._threads = one_thread()
        self._threads.__enter__()
        self._restore = None if _are_usual() else _usual_settings()

    def __exit__(self, *exception: object) -> None:
        if self._restore is not None:
            self._restore.close()
        self._threads.__exit__(*exception)


def _are_usual() -> bool:
    """Whether all settings but threads are the usual ones; two microseconds of each round."""
    return (
        torch.is_grad_enabled()
        and not torch.is_inference_mode_enabled()
        and torch.get_default_dtype() is torch.float32
        and torch.empty(0).is_cpu
        and np.geterr() == _USUAL_ERRORS
    )


def _usual_settings() -> ExitStack:
    """Make the settings the usual ones; what is returned restores those of the caller."""
    stack = ExitStack()
    stack.enter_context(torch.inference_mode(False))
    stack.enter_context(torch.enable_grad())
    stack.callback(torch.set_default_dtype, torch.get_default_dtype())
    torch.set_default_dtype(torch.float32)
    stack.enter_context(torch.device("cpu"))
    stack.enter_context(np.errstate(**_USUAL_ERRORS))
    return stack


def with_own_settings(
    function: Callable[_Arguments, _Result],
) -> Callable[_Arguments, _Result]:
    """The function, run in `own_settings`."""

    @wraps(function)
    def guarded(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with own_settings():
            return function(*args, **kwargs)

    return guarded

"""The check that an object is a kernel."""

from __future__ import annotations

from gpytorch.kernels import Kernel

from surefoot._internal import checks
from surefoot.types import InvalidInput


def check(kernel: object) -> None:
    """Refuse what is no kernel.

    Args:
        kernel: Expected to be a GPyTorch kernel.

    Raises:
        InvalidInput: If it is not.

    Example:
        >>> from surefoot import kernels
        >>> check(kernels.linear())
    """
    if not isinstance(kernel, Kernel):
        raise InvalidInput(
            f"`kernel` is {checks.shown(kernel)}, expected a GPyTorch kernel such as "
            "`kernels.squared_exponential(0.2)`, `matern`, `linear`, `precomputed` or your own."
        )

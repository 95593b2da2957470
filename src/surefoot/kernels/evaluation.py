"""Dense values of a kernel, and kernels that an optimizer may own."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from torch import Tensor

from surefoot.spaces import Arms, Space
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def owned(kernel: Kernel, space: Space) -> Kernel:
    """A copy of the kernel to keep, without gradients; `InvalidInput` if it is of another space."""
    from gpytorch.kernels import Kernel as AnyKernel

    from surefoot.kernels.precomputed_kernel import PrecomputedKernel

    if not isinstance(kernel, AnyKernel):
        raise InvalidInput(
            f"`kernel` is {kernel!r}, expected a GPyTorch kernel: `kernels.squared_exponential`, "
            "`matern`, `linear`, `precomputed` or one of your own."
        )
    if isinstance(kernel, PrecomputedKernel):
        arms = len(space) if isinstance(space, Arms) else 0
        if len(kernel.gram) != arms or not isinstance(space, Arms) or space.has_coordinates:
            raise InvalidInput(
                f"the precomputed kernel has {len(kernel.gram)} rows: "
                f"it goes with `Arms({len(kernel.gram)})`, arms without coordinates."
            )
    copied = copy.deepcopy(kernel).double().requires_grad_(False)
    middle = 0.5 * (space.lower + space.upper).unsqueeze(0)
    try:
        block(copied, middle, middle)
    except (RuntimeError, ValueError, IndexError) as error:
        raise InvalidInput(
            f"the kernel cannot be evaluated at points of {space.dimension} coordinates: {error}. "
            "One lengthscale, or one for each coordinate, is expected."
        ) from error
    return copied


def block(kernel: Kernel, left: Tensor, right: Tensor) -> Tensor:
    """Dense kernel values (n, m) between points (n, d) and (m, d)."""
    return kernel(left, right).to_dense()


def diagonal(kernel: Kernel, points: Tensor) -> Tensor:
    """k(x, x) at each of the points (n, d), as (n,)."""
    return kernel(points, points, diag=True)

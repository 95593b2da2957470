"""Dense values of a kernel, and the check that a kernel fits a space."""

from __future__ import annotations

import copy

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from surefoot._internal.numbers import ROUNDING, TINY, rows_at_once
from surefoot.kernels.closed_form import closed_form, constant_diagonal
from surefoot.kernels.parametric import check
from surefoot.kernels.user_defined import PrecomputedKernel
from surefoot.spaces.box import Space
from surefoot.spaces.locations import TRIED_AT
from surefoot.types import InvalidInput


def block(kernel: Kernel, left: Tensor, right: Tensor) -> Tensor:
    """Dense kernel values between two sets of points.

    Args:
        kernel: A GPyTorch kernel.
        left: Points (..., n, d).
        right: Points (..., m, d).

    Returns:
        k(left_i, right_j) as (..., n, m).

    Example:
        >>> import torch
        >>> from surefoot import kernels
        >>> x = torch.tensor([[1.0], [2.0]], dtype=torch.float64)
        >>> block(kernels.linear(), x, x[1:])
        tensor([[2.],
                [4.]], dtype=torch.float64)
    """
    formula = closed_form(kernel)
    if formula is not None:
        return formula(left, right)
    if left.ndim == 2:
        return kernel(left, right).to_dense()
    # One by one: a user's kernel need not know of batches.
    return torch.stack([block(kernel, *pair) for pair in zip(left, right, strict=True)])


def diagonal(kernel: Kernel, points: Tensor) -> Tensor:
    """Prior variances k(x, x).

    Args:
        kernel: A GPyTorch kernel.
        points: Points (n, d).

    Returns:
        k(x_i, x_i) as (n,).

    Example:
        >>> import torch
        >>> from surefoot import kernels
        >>> diagonal(kernels.linear(), torch.tensor([[1.0], [2.0]], dtype=torch.float64))
        tensor([1., 4.], dtype=torch.float64)
    """
    variance = constant_diagonal(kernel)
    if variance is not None:
        return variance.expand(len(points))
    return torch.cat(
        [kernel(part, part, diag=True) for part in points.split(rows_at_once(points.shape[1]))]
    )


def correlation(kernel: Kernel, points: Tensor, sites: Tensor) -> Tensor:
    """Prior correlations, 0 where they are negative.

    Args:
        kernel: A GPyTorch kernel.
        points: Points (n, d).
        sites: Other points (s, d).

    Returns:
        Correlations (n, s) between 0 and 1.

    Example:
        >>> import torch
        >>> from surefoot import kernels
        >>> x = torch.tensor([[1.0], [2.0]], dtype=torch.float64)
        >>> correlation(kernels.linear(), x, x).tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    rows = diagonal(kernel, points).clamp_min(TINY).sqrt()
    columns = diagonal(kernel, sites).clamp_min(TINY).sqrt()
    return (block(kernel, points, sites) / (rows[:, None] * columns)).clamp(0.0, 1.0)


def validated(kernel: Kernel, space: Space) -> Kernel:
    """A float64 copy of a kernel without gradients, once it has been evaluated on the space.

    Args:
        kernel: A GPyTorch kernel.
        space: The `Arms` or `Box` that it is to be used on.

    Returns:
        A deep copy on the device of the space; later changes of `kernel` do not affect it.

    Raises:
        InvalidInput: If `kernel` is not a GPyTorch kernel, or cannot be evaluated at the points
            of `space`.

    Example:
        >>> import surefoot as sf
        >>> sf.kernels.validated(sf.kernels.precomputed([[1.0]]), sf.Arms(2))
        Traceback (most recent call last):
        ...
        surefoot.types.InvalidInput: the precomputed kernel has 1 rows: it goes with `Arms(1)`...
    """
    check(kernel)
    if isinstance(kernel, PrecomputedKernel):
        arms = 0 if space.has_coordinates else len(space)  # type: ignore[arg-type]
        if len(kernel.gram) != arms:
            raise InvalidInput(
                f"the precomputed kernel has {len(kernel.gram)} rows: "
                f"it goes with `Arms({len(kernel.gram)})`, arms without coordinates."
            )
    copied = copy.deepcopy(kernel).to(space.lower).requires_grad_(False)
    locations = space.spread(TRIED_AT, torch.Generator().manual_seed(0))
    points = torch.stack([location.point for location in locations])
    try:
        gram = copied(points, points).to_dense()  # by GPyTorch, which checks dimensions
    except InvalidInput:
        raise
    except (RuntimeError, ValueError, IndexError) as error:
        raise InvalidInput(
            f"the kernel cannot be evaluated at points of {space.dimension} coordinates: "
            f"{str(error).rstrip('.')}. One lengthscale, or one for each coordinate, is expected."
        ) from error
    if not bool(torch.isfinite(gram).all()):
        raise InvalidInput("the kernel has values that are NaN or infinite on the space.")
    largest = float(gram.abs().max())
    if float((gram - gram.T).abs().max()) > ROUNDING * largest:
        raise InvalidInput("the kernel is not symmetric: k(x, x') differs from k(x', x).")
    if float(gram.diagonal().min()) < 0.0:
        raise InvalidInput(
            f"the kernel has a prior variance k(x, x) of {float(gram.diagonal().min()):.3g}, "
            "expected at least 0."
        )
    return copied

"""Squared exponential and Matérn kernels as formulas of tensors, without lazy evaluation.

GPyTorch evaluates a kernel in about half a millisecond whatever its size, most of it in the
bookkeeping of lazy tensors. A search evaluates small blocks thousands of times a round.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel
from torch import Tensor

_SQUARED_FLOOR = 1e-30  # of squared distances, so that their root has a gradient


def closed_form(kernel: Kernel) -> Callable[[Tensor, Tensor], Tensor] | None:
    """The formula of a kernel, with its present parameters.

    Args:
        kernel: A GPyTorch kernel.

    Returns:
        Function of points (..., n, d) and (..., m, d) that returns values (..., n, m),
        differentiable in the points and in the parameters; None if the kernel is not a squared
        exponential or Matérn kernel of smoothness 0.5, 1.5 or 2.5, or one times a variance.

    References:
        Rasmussen and Williams 2006, Section 4.2.1.

    Example:
        >>> from surefoot import kernels
        >>> x = torch.tensor([[0.0], [0.5]], dtype=torch.float64)
        >>> formula = closed_form(kernels.squared_exponential(0.5))
        >>> round(formula(x, x)[0, 1].item(), 4)
        0.6065
    """
    parts = _parts(kernel)
    if parts is None:
        return None
    correlation, base, variance = parts
    lengthscale = base.lengthscale

    def formula(left: Tensor, right: Tensor) -> Tensor:
        values = correlation(_exponents(left, right, lengthscale))
        return values if variance is None else variance * values

    return formula


def constant_diagonal(kernel: Kernel) -> Tensor | None:
    """Prior variance k(x, x), the same at every point, of a kernel with a closed form.

    Args:
        kernel: A GPyTorch kernel.

    Returns:
        The variance (), None if the kernel has no closed form.

    Example:
        >>> from surefoot import kernels
        >>> float(constant_diagonal(kernels.squared_exponential(0.5)))
        1.0
    """
    parts = _parts(kernel)
    if parts is None:
        return None
    _, base, variance = parts
    return base.raw_lengthscale.new_ones(()) if variance is None else variance


def _parts(kernel: Kernel) -> tuple[Callable[[Tensor], Tensor], Kernel, Tensor | None] | None:
    """Correlation function, its kernel and the variance; None for any other or a batch of them."""
    scaled = type(kernel) is ScaleKernel
    base = kernel.base_kernel if scaled else kernel
    correlation = _CORRELATIONS.get((type(base), getattr(base, "nu", None)))
    if correlation is None or base.active_dims is not None or base.raw_lengthscale.ndim != 2:
        return None
    if not scaled:
        return correlation, base, None
    variance = kernel.outputscale
    single = kernel.active_dims is None and variance.ndim == 0
    return (correlation, base, variance) if single else None


def _exponents(left: Tensor, right: Tensor, lengthscale: Tensor) -> Tensor:
    """-|x - y|^2 / 2 for every pair (..., n, m), by one product of matrices."""
    same = left is right
    center = right[..., :1, :].detach().sum(-2, keepdim=True)  # 0 where there are no points
    left = (left - center) / lengthscale
    right = left if same else (right - center) / lengthscale
    left_half = -0.5 * left.square().sum(-1, keepdim=True)
    right_half = left_half if same else -0.5 * right.square().sum(-1, keepdim=True)
    product = torch.cat([left, left_half, torch.ones_like(left_half)], -1)
    exponents = product @ torch.cat([right, torch.ones_like(right_half), right_half], -1).mT
    exponents = exponents.clamp_max_(0.0)
    if same:
        exponents.diagonal(dim1=-2, dim2=-1).zero_()
    return exponents


def _matern_1(exponents: Tensor) -> Tensor:
    return (-_distance(exponents)).exp()


def _matern_3(exponents: Tensor) -> Tensor:
    scaled = math.sqrt(3.0) * _distance(exponents)
    return (1.0 + scaled) * (-scaled).exp()


def _matern_5(exponents: Tensor) -> Tensor:
    scaled = math.sqrt(5.0) * _distance(exponents)
    return (1.0 + scaled - 10.0 / 3.0 * exponents) * (-scaled).exp()


def _distance(exponents: Tensor) -> Tensor:
    return (-2.0 * exponents).clamp_min(_SQUARED_FLOOR).sqrt()


_CORRELATIONS: dict[tuple[type, float | None], Callable[[Tensor], Tensor]] = {
    (RBFKernel, None): torch.exp,
    (MaternKernel, 0.5): _matern_1,
    (MaternKernel, 1.5): _matern_3,
    (MaternKernel, 2.5): _matern_5,
}

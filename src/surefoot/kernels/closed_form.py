"""Kernels with a formula as functions of tensors, without lazy evaluation.

GPyTorch evaluates a kernel in about half a millisecond whatever its size, most of it in the
bookkeeping of lazy tensors. A search evaluates small blocks thousands of times a round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from surefoot._internal.linalg import distances
from surefoot.kernels.families import family_of
from surefoot.kernels.parametric import SCALE_KERNELS


def closed_form(kernel: Kernel) -> Callable[[Tensor, Tensor], Tensor] | None:
    """The formula of a kernel, with its present parameters.

    Args:
        kernel: A GPyTorch kernel.

    Returns:
        Function of points (..., n, d) and (..., m, d) that returns values (..., n, m),
        differentiable in the points and in the parameters; None if the kernel is not of one of
        the `FAMILIES`, or one times a variance.

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
        values = correlation(left, right, lengthscale)
        return values if variance is None else variance * values

    return formula


def closed_form_to(kernel: Kernel, right: Tensor) -> Callable[[Tensor], Tensor] | None:
    """The formula of a kernel with fixed points, whose part of it is computed once.

    Args:
        kernel: A GPyTorch kernel, whose parameters are not changed afterwards.
        right: The fixed points (m, d).

    Returns:
        Function of points (n, d) that returns values (n, m), differentiable in the points; None
        as for `closed_form`.

    Example:
        >>> from surefoot import kernels
        >>> x = torch.tensor([[0.0], [0.5]], dtype=torch.float64)
        >>> formula = closed_form_to(kernels.squared_exponential(0.5), x)
        >>> round(formula(x)[0, 1].item(), 4)
        0.6065
    """
    parts = _parts(kernel)
    if parts is None:
        return None
    correlation, base, variance = parts
    inner = correlation.to(right, base.lengthscale.detach())
    return inner if variance is None else _Scaled(inner, variance)


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


class _Stationary(Protocol):
    """A function of the differences of points in lengthscales."""

    def __call__(self, left: Tensor, right: Tensor, lengthscale: Tensor) -> Tensor:
        """Values for every pair (..., n, m)."""

    def to(self, right: Tensor, lengthscale: Tensor) -> Callable[[Tensor], Tensor]:
        """The function of points (n, d) whose values (n, m) are with fixed points (m, d)."""


@dataclass(frozen=True, eq=False)
class _OfProducts:
    """One of -|x - y|^2 / 2, which a product of matrices gives."""

    correlation: Callable[[Tensor], Tensor]

    def __call__(self, left: Tensor, right: Tensor, lengthscale: Tensor) -> Tensor:
        return self.correlation(_exponents(left, right, lengthscale))

    def to(self, right: Tensor, lengthscale: Tensor) -> Callable[[Tensor], Tensor]:
        with torch.no_grad():
            center = right[:1].sum(0)
            scaled = (right - center) / lengthscale
            halves = -0.5 * scaled.square().sum(-1, keepdim=True)
            columns = torch.cat([scaled, torch.ones_like(halves), halves], -1).T.contiguous()
        return _OfProductsTo(self.correlation, lengthscale, center, columns)


@dataclass(frozen=True, eq=False)
class _OfProductsTo:
    """Kernel values with fixed points, of which `columns` has what does not change."""

    correlation: Callable[[Tensor], Tensor]
    lengthscale: Tensor
    center: Tensor
    columns: Tensor

    def __call__(self, points: Tensor) -> Tensor:
        left = (points - self.center) / self.lengthscale
        half = -0.5 * left.square().sum(-1, keepdim=True)
        exponents = torch.cat([left, half, torch.ones_like(half)], -1) @ self.columns
        return self.correlation(exponents.clamp_max_(0.0))


@dataclass(frozen=True)
class _OfDifferences:
    """One of |x - y|, from differences."""

    correlation: Callable[[Tensor], Tensor]

    def __call__(self, left: Tensor, right: Tensor, lengthscale: Tensor) -> Tensor:
        return self.correlation(distances(left / lengthscale, right / lengthscale))

    def to(self, right: Tensor, lengthscale: Tensor) -> Callable[[Tensor], Tensor]:
        return partial(self, right=right, lengthscale=lengthscale)


@dataclass(frozen=True, eq=False)
class _Scaled:
    """Values times a variance."""

    inner: Callable[[Tensor], Tensor]
    variance: Tensor

    def __call__(self, points: Tensor) -> Tensor:
        return self.variance * self.inner(points)


def _parts(kernel: Kernel) -> tuple[_Stationary, Kernel, Tensor | None] | None:
    """Correlation function, its kernel and the variance; None for any other or a batch of them."""
    scaled = type(kernel) in SCALE_KERNELS
    base = kernel.base_kernel if scaled else kernel
    family = family_of(base)
    if family is None or base.active_dims is not None or base.raw_lengthscale.ndim != 2:
        return None
    of = _OfProducts if family.of_products else _OfDifferences
    correlation: _Stationary = of(family.values)
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

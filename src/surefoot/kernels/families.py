"""Stationary kernels as values: formula, derivatives and GPyTorch's class of each.

They are functions of the exponent -r^2 / 2 of the distance r in lengthscales, which a product of
matrices gives. A kernel that is added to `FAMILIES` can be fitted, saved and searched by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel
from torch import Tensor
from torch.autograd.function import once_differentiable

FLOOR = -5e-31
"""Largest exponent but 0: nearer to it, the root of the distance has no derivative."""


class Correlation(NamedTuple):
    """Correlations at exponents (...), and how to find their derivatives.

    Args:
        values: The correlations (...).
        slopes: Returns the derivatives (...) in the exponents.
        bends: Returns the second derivatives (...).
    """

    values: Tensor
    slopes: Callable[[], Tensor]
    bends: Callable[[], Tensor]


Formula = Callable[[Tensor, float | Tensor], Correlation]
"""Correlations at exponents (...) of at most `FLOOR`, times a variance."""


@dataclass(frozen=True, eq=False)
class Family:
    """A stationary kernel of unit variance.

    Args:
        name: Its name.
        kind: GPyTorch's class of it.
        settings: Attributes that tell it from others of its class, and are arguments of it.
        formula: Correlations and derivatives at exponents, in few passes over memory.
        values: Correlations at exponents of at most 0, or at distances, differentiable.
        of_products: Whether products of matrices, which leave an error of 1e-12 in the squared
            distance, are exact enough. A kernel that is linear in the distance near 0 needs
            differences, and has its `values` at distances.

    References:
        Rasmussen and Williams 2006, Section 4.2.1.

    Example:
        >>> values, slopes, bends = FAMILIES["matern-5/2"].formula(torch.tensor([-0.5]).double(), 1)
        >>> [round(one.item(), 4) for one in (values, slopes(), bends())]
        [0.524, 0.5764, 0.8906]
    """

    name: str
    kind: type[Kernel]
    settings: Mapping[str, float]
    formula: Formula
    values: Callable[[Tensor], Tensor]
    of_products: bool = True

    def kernel(self, lengthscale: Tensor) -> Kernel:
        """GPyTorch's kernel with a lengthscale (1,), or one for each coordinate (d,)."""
        return of_kind(self.kind, lengthscale, **self.settings)

    def is_of(self, kernel: Kernel) -> bool:
        """Whether a kernel is of this family, whatever its lengthscales are."""
        return type(kernel) is self.kind and all(
            getattr(kernel, name) == value for name, value in self.settings.items()
        )


def of_kind(kind: type[Kernel], lengthscale: Tensor, **settings: float) -> Kernel:
    """A kernel of a class of GPyTorch with a lengthscale (1,), or one for each coordinate (d,)."""
    several = len(lengthscale) if len(lengthscale) > 1 else None
    kernel = kind(**settings, ard_num_dims=several).double()
    kernel.lengthscale = lengthscale
    return kernel.requires_grad_(False)


def family_of(kernel: Kernel) -> Family | None:
    """The family of a kernel; None if it has none."""
    return next((one for one in FAMILIES.values() if one.is_of(kernel)), None)


def _squared_exponential(exponents: Tensor, variance: float | Tensor) -> Correlation:
    values = exponents.exp().mul_(variance)
    return Correlation(values, lambda: values, lambda: values)


def _matern(nu: float, exponents: Tensor, variance: float | Tensor) -> Correlation:
    scaled = exponents.mul(-4.0 * nu).sqrt_()  # sqrt(2 nu) r
    return _MATERNS[nu](exponents, scaled, scaled.neg().exp_().mul_(variance))


def _matern_1(exponents: Tensor, distance: Tensor, decay: Tensor) -> Correlation:
    apart = exponents < FLOOR
    return Correlation(
        decay,
        lambda: decay / distance * apart,
        lambda: decay * (1.0 + distance) / distance**3 * apart,
    )


def _matern_3(exponents: Tensor, scaled: Tensor, decay: Tensor) -> Correlation:
    values = scaled.add_(1.0).mul_(decay)
    return Correlation(
        values,
        lambda: 3.0 * decay,
        lambda: 9.0 * decay / exponents.mul(-6.0).sqrt_(),
    )


def _matern_5(exponents: Tensor, scaled: Tensor, decay: Tensor) -> Correlation:
    rising = scaled.add_(1.0).mul_(decay)
    values = torch.addcmul(rising, exponents, decay, value=-10.0 / 3.0)
    return Correlation(values, lambda: (5.0 / 3.0) * rising, lambda: (25.0 / 3.0) * decay)


_MATERNS = {0.5: _matern_1, 1.5: _matern_3, 2.5: _matern_5}


class _Differentiable(torch.autograd.Function):
    """Correlations as one operation, whose derivative is known: seven fewer passes over memory."""

    @staticmethod
    def forward(ctx: Any, exponents: Tensor, formula: Formula) -> Tensor:
        found = formula(exponents.clamp_max(FLOOR), 1.0)
        if ctx.needs_input_grad[0]:
            ctx.save_for_backward(found.slopes())
        return found.values

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient * ctx.saved_tensors[0], None


def differentiable(formula: Formula, exponents: Tensor) -> Tensor:
    """Correlations at exponents (...) of at most 0, differentiable once in them."""
    values: Tensor = _Differentiable.apply(exponents, formula)
    return values


def _exponential(distances: Tensor) -> Tensor:
    return (-distances).exp()


def _of_smoothness(nu: float, name: str) -> Family:
    formula = partial(_matern, nu)
    by_products = nu > 0.5
    values = partial(differentiable, formula) if by_products else _exponential
    return Family(name, MaternKernel, {"nu": nu}, formula, values, by_products)


FAMILIES = {
    one.name: one
    for one in (
        Family("squared_exponential", RBFKernel, {}, _squared_exponential, torch.exp),
        _of_smoothness(0.5, "matern-1/2"),
        _of_smoothness(1.5, "matern-3/2"),
        _of_smoothness(2.5, "matern-5/2"),
    )
}
"""All kernels with a formula, by name."""

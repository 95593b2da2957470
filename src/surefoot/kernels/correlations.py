"""Correlations of squared exponential and Matérn kernels by the distance, and their derivatives.

They are functions of the exponent -r^2 / 2 of the distance r in lengthscales, which a product of
matrices gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
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


def correlation(exponents: Tensor, nu: float | None, variance: float | Tensor = 1.0) -> Correlation:
    """Correlations times a variance, in few passes over memory.

    Args:
        exponents: The exponents -r^2 / 2 (...), at most `FLOOR`.
        nu: Smoothness of a Matérn kernel, 0.5, 1.5 or 2.5; None for the squared exponential.
        variance: The variance, or several that broadcast with the exponents.

    References:
        Rasmussen and Williams 2006, Section 4.2.1.

    Example:
        >>> values, slopes, bends = correlation(torch.tensor([-0.5], dtype=torch.float64), 2.5)
        >>> [round(one.item(), 4) for one in (values, slopes(), bends())]
        [0.524, 0.5764, 0.8906]
    """
    if nu is None:
        values = exponents.exp().mul_(variance)
        return Correlation(values, lambda: values, lambda: values)
    scaled = exponents.mul(-4.0 * nu).sqrt_()  # sqrt(2 nu) r
    decay = scaled.neg().exp_().mul_(variance)
    return _MATERNS[nu](exponents, scaled, decay)


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
    """A correlation as one operation, whose derivative is known: seven fewer passes over memory."""

    @staticmethod
    def forward(ctx: Any, exponents: Tensor, nu: float | None) -> Tensor:
        found = correlation(exponents.clamp_max(FLOOR), nu)
        if ctx.needs_input_grad[0]:
            ctx.save_for_backward(found.slopes())
        return found.values

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient * ctx.saved_tensors[0], None


def differentiable_correlation(exponents: Tensor, nu: float | None) -> Tensor:
    """Correlations at exponents (...) of at most 0, differentiable once in them."""
    values: Tensor = _Differentiable.apply(exponents, nu)
    return values

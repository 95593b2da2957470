"""Kernels as plain values, so that a file can hold them."""

from __future__ import annotations

from typing import Any

import torch
from gpytorch.kernels import Kernel, LinearKernel, MaternKernel, RBFKernel

from surefoot.kernels.general_matern import GeneralMaternKernel
from surefoot.kernels.parametric import (
    SCALE_KERNELS,
    linear,
    matern,
    scaled,
    squared_exponential,
)
from surefoot.kernels.user_defined import PrecomputedKernel, precomputed
from surefoot.types import InvalidInput


def to_recipe(kernel: Kernel) -> tuple[Any, ...] | None:
    """A kernel as numbers and tensors, from which `from_recipe` builds it again.

    Args:
        kernel: The kernel.

    Returns:
        The recipe; None if it is not a kernel of `surefoot.kernels`.

    Example:
        >>> import surefoot as sf
        >>> sf.kernels.to_recipe(sf.kernels.linear())
        ('linear',)
    """
    if type(kernel) in SCALE_KERNELS:
        inner = to_recipe(kernel.base_kernel)
        return None if inner is None else ("scaled", inner, kernel.raw_outputscale)
    stationary = type(kernel) in (MaternKernel, GeneralMaternKernel, RBFKernel)
    if stationary and kernel.active_dims is None:
        if type(kernel) is RBFKernel:
            return "squared_exponential", kernel.raw_lengthscale
        return "matern", kernel.raw_lengthscale, kernel.nu
    if type(kernel) is LinearKernel and float(kernel.variance) == 1.0:
        return ("linear",)
    if type(kernel) is PrecomputedKernel:
        return "precomputed", kernel.gram
    return None


def from_recipe(recipe: tuple[Any, ...]) -> Kernel:
    """The kernel of a recipe.

    Args:
        recipe: What `to_recipe` returned.

    Returns:
        The kernel.

    Raises:
        InvalidInput: If the recipe is of no known kind.
    """
    match recipe:
        case ("scaled", inner, variance):
            outer = scaled(from_recipe(inner), 1.0)
            outer.raw_outputscale.data = variance
            return outer
        case ("matern" | "squared_exponential", raw, *nu):
            ones = torch.ones(raw.numel())
            base = matern(nu[0], ones) if nu else squared_exponential(ones)
            base.raw_lengthscale.data = raw  # the raw one, which no transformation rounds
            return base
        case ("linear",):
            return linear()
        case ("precomputed", gram):
            return precomputed(gram)
    raise InvalidInput(f"the kernel {recipe!r} is not one that this version knows.")

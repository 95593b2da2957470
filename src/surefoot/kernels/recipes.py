"""Kernels as plain values, so that a file can hold them."""

from __future__ import annotations

import copy
from typing import Any

import torch
from gpytorch.kernels import AdditiveKernel, Kernel, LinearKernel

from surefoot.kernels.families import FAMILIES, family_of
from surefoot.kernels.parametric import (
    SCALE_KERNELS,
    additive,
    linear,
    scaled,
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
    if type(kernel) is AdditiveKernel and kernel.active_dims is None:
        parts = [_of_some(part) for part in kernel.kernels]
        return None if None in parts else ("additive", *parts)
    if type(kernel) in SCALE_KERNELS and kernel.active_dims is None:
        inner = to_recipe(kernel.base_kernel)
        return None if inner is None else ("scaled", inner, kernel.raw_outputscale)
    if (family := family_of(kernel)) is not None and kernel.active_dims is None:
        return family.name, kernel.raw_lengthscale
    if type(kernel) is LinearKernel and float(kernel.variance) == 1.0:
        return ("linear",)
    return ("precomputed", kernel.gram) if type(kernel) is PrecomputedKernel else None


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
            outer = scaled(from_recipe(inner), 1.0).to(variance)
            outer.raw_outputscale.data = variance
            return outer
        case (name, raw) if name in FAMILIES:
            base = FAMILIES[name].kernel(torch.ones(raw.numel())).to(raw)
            base.raw_lengthscale.data = raw  # the raw one, which no transformation rounds
            return base
        case ("linear",):
            return linear()
        case ("additive", *parts):
            return additive({tuple(dims.tolist()): from_recipe(inner) for dims, inner in parts})
        case ("precomputed", gram):
            return precomputed(gram).to(gram)
    raise InvalidInput(f"the kernel {recipe!r} is not one that this version knows.")


def _of_some(kernel: Kernel) -> tuple[Any, ...] | None:
    """The coordinates of a summand, and its recipe as a kernel of all."""
    if kernel.active_dims is None:
        return None
    whole = copy.deepcopy(kernel)
    whole.active_dims = None
    recipe = to_recipe(whole)
    return None if recipe is None else (kernel.active_dims, recipe)

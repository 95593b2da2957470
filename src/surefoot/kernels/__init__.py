"""Covariance functions as GPyTorch kernels, and their dense values.

The constructors return GPyTorch modules in float64 without gradients. Any other GPyTorch kernel
can be passed to an optimizer as well.
"""

import warnings

# those of its own imports, where warnings are errors too
with warnings.catch_warnings(action="ignore"):
    import gpytorch.kernels  # noqa: F401

from surefoot.kernels.evaluation import block, correlation, diagonal, validated
from surefoot.kernels.parametric import additive, check, linear, matern, scaled, squared_exponential
from surefoot.kernels.recipes import from_recipe, to_recipe
from surefoot.kernels.user_defined import CustomKernel, PrecomputedKernel, custom, precomputed

__all__ = [
    "CustomKernel",
    "PrecomputedKernel",
    "additive",
    "block",
    "check",
    "correlation",
    "custom",
    "diagonal",
    "from_recipe",
    "linear",
    "matern",
    "precomputed",
    "scaled",
    "squared_exponential",
    "to_recipe",
    "validated",
]

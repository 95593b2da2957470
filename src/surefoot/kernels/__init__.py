"""Kernels by their field names, as GPyTorch modules, and their dense values."""

from surefoot.kernels.constructors import (
    custom,
    linear,
    matern,
    precomputed,
    scaled,
    squared_exponential,
)
from surefoot.kernels.evaluation import block, diagonal, owned

__all__ = [
    "block",
    "custom",
    "diagonal",
    "linear",
    "matern",
    "owned",
    "precomputed",
    "scaled",
    "squared_exponential",
]

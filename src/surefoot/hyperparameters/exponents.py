"""Exponents, -1/2 times squared distances in lengthscales, and what their slopes are in points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor

from surefoot._internal.linalg import Floats, distances
from surefoot.kernels.families import FLOOR, Family

_WIDE = 8  # columns of a lengthscale, beyond which their distances are computed once


def _less_halves(left: Tensor, right: Tensor, halves: Tensor) -> Tensor:
    products = left @ right.mT
    products -= halves
    products -= 0.5 * left.square().sum(-1, keepdim=True)
    return products


def _by_differences(left: Tensor, right: Tensor) -> Tensor:
    return -0.5 * distances(left, right).square()


class _ByProducts:
    """By products of matrices, with an error of rounding relative to the extent of all points."""

    def exponents(self, scaled: Floats) -> Floats:
        """Exponents (n, n) of points (n, d)."""
        exponents: Floats = scaled @ scaled.T
        halves = 0.5 * exponents.diagonal()
        exponents -= halves[:, None]
        exponents -= halves
        return exponents

    def to(self, right: Tensor) -> Callable[[Tensor], Tensor]:
        """Exponents (..., p, r) of points (..., p, d) with points (..., r, d), differentiable."""
        return partial(_less_halves, right=right, halves=0.5 * right.square().sum(-1).unsqueeze(-2))

    def spread(self, weights: Floats, scaled: Floats) -> Floats:
        """Half the sum of squared distances in each coordinate (d,), weighted by pair (n, n).

        The pairs (i, j) and (j, i) have the same weight.
        """
        sums = weights.sum(0)
        spread: Floats = (scaled * (sums[:, None] * scaled - weights @ scaled)).sum(0)
        return spread


class _ByDifferences:
    """By differences, for a kernel that is linear in the root: 1e-12 would change it by 1e-6."""

    def exponents(self, scaled: Floats) -> Floats:
        points = torch.from_numpy(scaled)
        return self.to(points)(points).numpy()

    def to(self, right: Tensor) -> Callable[[Tensor], Tensor]:
        return partial(_by_differences, right=right)

    def spread(self, weights: Floats, scaled: Floats) -> Floats:
        columns = (np.subtract.outer(column, column) for column in scaled.T)
        return np.array([0.5 * float(np.vdot(weights, np.square(each))) for each in columns])


Distances = _ByProducts | _ByDifferences
"""How exponents, -1/2 times squared distances in lengthscales, are computed."""


def distances_of(family: Family) -> Distances:
    """How exponents of a kernel are computed."""
    return _ByProducts() if family.of_products else _ByDifferences()


@dataclass(frozen=True, eq=False)
class Metric:
    """How far points are from each other, in lengthscales that coordinates may share.

    Args:
        distances: How exponents are computed.
        group: Which lengthscale each coordinate has (d,).
        origin: Point (1, d) from which all are seen: differences keep more digits where all points
            are close.
    """

    distances: Distances
    group: Tensor
    origin: Tensor

    def to(self, lengthscales: Tensor, points: Tensor) -> ExponentsTo:
        """Exponents with points (r, d), in lengthscales (..., g)."""
        return ExponentsTo(self, lengthscales, points - self.origin)

    @cached_property
    def wide(self) -> dict[int, Tensor]:
        """Columns that share a lengthscale, where they are many, as of a category, by its index.

        Their distances are the same in any lengthscale but for its size, and computed once for all
        lengthscales of a batch.
        """
        wide = (torch.bincount(self.group) > _WIDE).nonzero()[:, 0].tolist()
        return {one: (self.group == one).nonzero()[:, 0] for one in wide}

    @cached_property
    def narrow(self) -> Tensor | slice:
        """Columns of all other lengthscales."""
        if not self.wide:
            return slice(None)
        return (torch.bincount(self.group)[self.group] <= _WIDE).nonzero()[:, 0]


class ExponentsTo:
    """Exponents with points that stay the same, of which all that can be is computed once.

    Args:
        metric: How far points are from each other.
        lengthscales: Lengthscales (..., g).
        right: The points (r, d), as seen from the origin.
    """

    def __init__(self, metric: Metric, lengthscales: Tensor, right: Tensor) -> None:
        self._metric, self._lengthscales, self._right = metric, lengthscales, right
        self._narrow = self._scales[..., metric.narrow]
        to = metric.distances.to
        self._apart = to(right[..., metric.narrow] / self._narrow)
        self._once = {group: to(right[..., columns]) for group, columns in metric.wide.items()}

    def __call__(self, points: Tensor) -> Tensor:
        """Exponents (..., p, r) of points (p, d), or groups (..., 1, p, d) of them."""
        left = points - self._metric.origin
        exponents = self._apart(left[..., self._metric.narrow] / self._narrow)
        for group, once in self._once.items():
            alone = once(left[..., self._metric.wide[group]])
            exponents = exponents + alone / self._lengthscales[..., group, None, None].square()
        return exponents.clamp_max_(FLOOR)

    def slopes(self, points: Tensor, weights: Tensor) -> Tensor:
        """Slopes (p, d), in points (p, d), of the sum of exponents (s, p, r) times weights."""
        products = weights @ self._rows
        left = (points - self._metric.origin) / self._scales
        return ((products[..., :-1] - left * products[..., -1:]) / self._scales).sum(0)

    @cached_property
    def _scales(self) -> Tensor:
        """Lengthscales (..., 1, d) by coordinate."""
        return self._lengthscales[..., None, self._metric.group]

    @cached_property
    def _rows(self) -> Tensor:
        """The points (..., r, d + 1) in lengthscales, and ones."""
        scaled = self._right / self._scales
        return torch.cat([scaled, torch.ones_like(scaled[..., :1])], -1)

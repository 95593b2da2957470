"""A dictionary of the points that cover all others best."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal import checks
from surefoot._internal.numbers import NEW_SHARE
from surefoot._internal.tensors import NO_ROWS
from surefoot.features.nystrom_embedding import TOLERANCE, NystromEmbedding
from surefoot.regression.observations import Pull
from surefoot.regression.refitted import Refitted
from surefoot.spaces import Space

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.regression.regression import Regression


_WORK = 2**31  # products of a number of points with the square of that in the dictionary


@dataclass(frozen=True)
class PivotedCholesky:
    """At most `size` of the measured points, those of a pivoted Cholesky factorization.

    While there are no more than `size` distinct points this is the exact Gaussian process. Beyond,
    four fifths of the dictionary are the greedy choice by residual variance, and the rest takes in
    every new point; when it is full, all of it is chosen again, or, while less than 1 % of the
    points are new, its older half goes. With n distinct points there are at
    most (2^31 / n)^(1/2) in the dictionary, so that from then on a round takes no longer: for the
    default size, from 2,048 points on.

    Args:
        size: Largest number of points in the dictionary.

    Raises:
        InvalidInput: If `size` is not a positive integer.

    References:
        Burt, Rasmussen and van der Wilk 2020, "Convergence of sparse variational inference in
        Gaussian processes regression", Section 4.

    Example:
        >>> import surefoot as sf
        >>> features = sf.Nystrom(sf.PivotedCholesky(128))
    """

    size: int = 1024

    def __post_init__(self) -> None:
        checks.count("size", self.size)

    def init(
        self,
        kernel: Kernel,
        space: Space,
        ridge: float,
        generator: torch.Generator,
        *,
        lasting: bool = True,
    ) -> Regression:
        """The regression before the first measurement (see `Features.init`)."""
        return Refitted(_GreedyDictionary(kernel, self.size), ridge)


@dataclass(eq=False)
class _GreedyDictionary:
    """The dictionary for so many sites follows from the one before and the sites since then.

    Args:
        kernel: The prior covariance.
        size: Largest number of points.
        chosen: The dictionary (m, d), in order.
        chosen_sites: Number of sites for which it is.
        base: How many of its points were chosen together.
        base_sites: Number of sites then.
    """

    kernel: Kernel = field(metadata={"saved": False})
    size: int
    chosen: Tensor = NO_ROWS
    chosen_sites: int = 0
    base: int = 0
    base_sites: int = 0
    _embedding: NystromEmbedding | None = field(default=None, metadata={"saved": False})

    def update(self, pull: Pull) -> None:
        """Sites are counted where they are given."""

    def embedding(self, sites: Tensor) -> NystromEmbedding:
        number = len(sites)
        if number <= self.size:
            if self._embedding is None or number != self.chosen_sites:
                self._take(NystromEmbedding.of(self.kernel, sites), 0, 0, number)
            return self._embedding  # type: ignore[return-value]
        if self.base and self._embedding is None:  # after loading
            self._embedding = self._with(
                self._rooted(self.chosen[: self.base]), self.chosen[self.base :]
            )
        if not self.base:
            self._choose(sites)
        elif number > self.chosen_sites:
            self._follow(sites)
        return self._embedding  # type: ignore[return-value]

    def _follow(self, sites: Tensor) -> None:
        """Take in the sites since the last time."""
        new, number = sites[self.chosen_sites :], len(sites)
        room = self._most(number) - self.base
        joined = self.chosen[self.base :]
        if len(joined) + len(new) <= room:
            embedding = self._with(self._embedding, new)  # type: ignore[arg-type]
        elif number > (1.0 + NEW_SHARE) * self.base_sites:
            self._choose(sites)
            return
        else:
            latest = torch.cat([joined, new])
            embedding = self._with(self._embedding.first, latest[len(latest) - room // 2 :])  # type: ignore[union-attr]
        self._take(embedding, self.base, self.base_sites, number)

    def _choose(self, sites: Tensor) -> None:
        """Choose all of it by residual variance, and leave room for what comes."""
        rank = max(1, self._most(len(sites)) * 4 // 5)
        found = self._rooted(NystromEmbedding.of(self.kernel, sites, rank=rank).dictionary)
        self._take(found, found.dimension, len(sites), len(sites))

    def _most(self, sites: int) -> int:
        return min(self.size, math.ceil((_WORK / sites) ** 0.5))

    def _rooted(self, points: Tensor) -> NystromEmbedding:
        return NystromEmbedding.rooted(self.kernel, points).first

    def _with(self, embedding: NystromEmbedding, points: Tensor) -> NystromEmbedding:
        """The embedding with the points that join, as far as it does not represent them."""
        for row in points:
            point = row[None]
            feature = embedding.extended(point, point.new_zeros(1, 0))[0]
            prior = float(kernels.diagonal(self.kernel, point))
            left = prior - float(feature.square().sum())
            if left > TOLERANCE * prior:
                embedding = embedding.joined(point, feature, left)
        return embedding

    def _take(self, embedding: NystromEmbedding, base: int, base_sites: int, sites: int) -> None:
        self._embedding, self.chosen, self.chosen_sites = embedding, embedding.dictionary, sites
        self.base, self.base_sites = base, base_sites

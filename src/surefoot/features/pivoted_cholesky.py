"""A dictionary of the points that cover all others best."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal import checks
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
    every new point; when it is full, all of it is chosen again. With n distinct points there are at
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
    """The dictionary for so many sites follows from the one before and the sites since then."""

    kernel: Kernel = field(metadata={"saved": False})
    size: int
    before: Tensor = field(default_factory=lambda: torch.zeros(0, 0, dtype=torch.float64))
    before_sites: int = 0
    chosen: Tensor = field(default_factory=lambda: torch.zeros(0, 0, dtype=torch.float64))
    chosen_sites: int = 0
    _embedding: NystromEmbedding | None = field(default=None, metadata={"saved": False})
    _rooted: NystromEmbedding | None = field(default=None, metadata={"saved": False})

    def update(self, pull: Pull) -> None:
        """Sites are counted where they are given."""

    def embedding(self, sites: Tensor) -> NystromEmbedding:
        if len(sites) != self.chosen_sites:
            self.before_sites, self.before = self.chosen_sites, self.chosen
            self._embedding = None
        if self._embedding is None:
            self._embedding = self._choose(sites)
            self.chosen_sites, self.chosen = len(sites), self._embedding.dictionary
        return self._embedding

    def _choose(self, sites: Tensor) -> NystromEmbedding:
        fresh = len(sites) - self.before_sites
        if len(sites) <= self.size:
            return NystromEmbedding.of(self.kernel, sites)
        most = min(self.size, math.ceil((_WORK / len(sites)) ** 0.5))
        if not len(self.before) or len(self.before) + fresh > most:
            return NystromEmbedding.of(self.kernel, sites, rank=max(1, most * 4 // 5))
        embedding = self._rooted
        if embedding is None or not torch.equal(embedding.dictionary, self.before):
            embedding = NystromEmbedding.rooted(self.kernel, self.before)
        for point in sites[self.before_sites :].split(1):
            residual = embedding.residual(point, embedding(point))
            if float(residual) > TOLERANCE * float(kernels.diagonal(self.kernel, point)):
                dictionary = torch.cat([embedding.dictionary, point])
                embedding = NystromEmbedding.rooted(self.kernel, dictionary)
        self._rooted = embedding
        return embedding

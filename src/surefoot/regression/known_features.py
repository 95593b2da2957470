"""Features of the sites of a run, most of which are known from the sample before."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from surefoot._internal.numbers import ROWS_AT_ONCE
from surefoot._internal.tensors import NO_ROWS
from surefoot.regression.embedding import Embedding
from surefoot.regression.products import ByBlocks

_SPARE = 1.25  # columns of wider buffers, as a multiple of those that do not suffice


@runtime_checkable
class Extensible(Protocol):
    """A feature map that others may join, one by one, and leave the features before as they are."""

    @property
    def dimension(self) -> int:
        """m, the number of features."""

    def residual(self, points: Tensor, features: Tensor) -> Tensor:
        """[k(x, x) - ||phi(x)||^2]+ at points (n, d) with features (n, m), as (n,)."""

    @property
    def base(self) -> int:
        """Number of the features that did not join."""

    def shared(self, other: Embedding) -> int:
        """Number of the first features that are those of another map."""

    def extended(self, points: Tensor, known: Tensor) -> Tensor:
        """Features (n, m) of points (n, d), of which the first (n, k) are known; k may be 0."""


@dataclass(frozen=True, eq=False)
class _Closed:
    """A feature map that no others join."""

    embedding: Embedding

    @property
    def dimension(self) -> int:
        return self.embedding.dimension

    def residual(self, points: Tensor, features: Tensor) -> Tensor:
        return self.embedding.residual(points, features)

    @property
    def base(self) -> int:
        return self.dimension

    def shared(self, other: Embedding) -> int:
        return 0

    def extended(self, points: Tensor, known: Tensor) -> Tensor:
        return self.embedding(points)


class KnownFeatures:
    """Features and residuals of the sites of a run under one feature map.

    They are computed in blocks, each of which has the same number of rows, and those that joined
    one by one, so that the features of a site do not depend on when others were added, not even by
    rounding. Nor does the layout in memory, by which products with them are rounded.

    Attributes:
        products: Their weighted sums.
    """

    def __init__(self) -> None:
        self._embedding: Embedding | None = None  # before the first sites
        self._map: Extensible  # the same
        self.products = ByBlocks(ROWS_AT_ONCE, 0)
        self._sites = NO_ROWS
        self._features = self._sites  # with room for further sites and features
        self._residual = self._sites

    @staticmethod
    def pays(embedding: Embedding, sites: Tensor) -> bool:
        """Whether there are several blocks of sites."""
        return len(sites) > _block_of(embedding)

    def of(self, embedding: Embedding, sites: Tensor) -> tuple[Tensor, Tensor]:
        """Features (S, m) and residuals (S,) of sites (S, d); those of the last map are known."""
        known = min(len(self._sites), len(sites))
        if known and not torch.equal(sites[:known], self._sites[:known]):
            self._embedding, known = None, 0
        if embedding is not self._embedding:
            known = self._follow(embedding, sites[:known])
        if len(sites) > known:
            self._make_room(sites, known)
            block = self.products.length
            for start in range(known - known % block, len(sites), block):
                self._compute(sites[start : start + block], start, known)
            self._sites = sites
        return self._features[: len(sites), : embedding.dimension], self._residual[: len(sites)]

    def _shared(self, following: Extensible) -> int:
        """Number of features of a map that are known."""
        if self._embedding is None or _block_of(following) != self.products.length:
            return 0
        return following.shared(self._embedding)

    def _follow(self, embedding: Embedding, sites: Tensor) -> int:
        """Go over to another map; how many of these sites are known."""
        following = embedding if isinstance(embedding, Extensible) else _Closed(embedding)
        shared, known = self._shared(following), 0
        if shared:
            self._extend(following, sites, shared, self._map.dimension)
            known = len(sites)
        else:
            self.products = ByBlocks(_block_of(following), following.base)
            self._sites, self._features = sites[:0], sites.new_empty(0, 0)
        self._embedding, self._map = embedding, following
        return known

    def _extend(self, embedding: Extensible, sites: Tensor, shared: int, before: int) -> None:
        """Find the features at known sites that come after so many shared ones."""
        length, columns = self.products.length, embedding.dimension
        self.products = self.products.of_first(shared)
        if shared < before or _width(embedding) != self._features.shape[1]:
            features = sites.new_empty(len(self._features), _width(embedding))
            features[: len(sites), :shared] = self._features[: len(sites), :shared]
            self._features = features
        self._residual = self._residual.clone()  # that of an earlier sample stays
        for start in range(0, len(sites), length):
            rows = slice(start, min(start + length, len(sites)))
            whole, known = self._whole(sites[rows]), self._whole(self._features[rows, :shared])
            features = embedding.extended(whole, known)
            self._features[rows, shared:columns] = features[: rows.stop - start, shared:]
            self._residual[rows] = embedding.residual(whole, features)[: rows.stop - start]
        self._sites = sites

    def _whole(self, rows: Tensor) -> Tensor:
        """A block, the last one filled up with its last row."""
        return torch.cat([rows, rows[-1:].expand(self.products.length - len(rows), -1)])

    def _compute(self, rows: Tensor, start: int, known: int) -> None:
        """Fill in what is not known of a block that begins at `start`."""
        first, whole = max(start, known), self._whole(rows)
        features = self._map.extended(whole, whole.new_zeros(len(whole), 0))
        place, new = slice(first, start + len(rows)), slice(first - start, len(rows))
        self._features[place, : features.shape[1]] = features[new]
        self._residual[place] = self._map.residual(whole, features)[new]

    def _make_room(self, sites: Tensor, known: int) -> None:
        """Longer buffers where they are full; a sample that has seen the old ones keeps them."""
        if len(sites) <= len(self._features):
            return
        number = max(len(sites), 3 * known // 2)
        features = sites.new_empty(number, _width(self._map))
        residual = sites.new_empty(number)
        if known:
            features[:known] = self._features[:known]
            residual[:known] = self._residual[:known]
        self._features, self._residual = features, residual


def _width(embedding: Extensible) -> int:
    """Columns of the buffers, which follow from the map alone, however it came about."""
    width = max(embedding.base, 1)
    while width < embedding.dimension:
        width = math.ceil(_SPARE * width)
    return width


def _block_of(embedding: Embedding | Extensible) -> int:
    return max(ROWS_AT_ONCE, 1 << (embedding.dimension - 1).bit_length())

"""Features of the sites of a run, most of which are known from the sample before."""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from surefoot.regression.embedding import Embedding
from surefoot.regression.products import ByBlocks

_BLOCK = 1024  # sites, at least as many as features
_SPARE = 1.25  # columns of wider buffers, as a multiple of those that do not suffice


@runtime_checkable
class Extensible(Protocol):
    """A feature map that others may join, one by one, and leave the features before as they are."""

    @property
    def dimension(self) -> int:
        """m, the number of features."""
        ...

    def residual(self, points: Tensor, features: Tensor) -> Tensor:
        """[k(x, x) - ||phi(x)||^2]+ at points (n, d) with features (n, m), as (n,)."""
        ...

    @property
    def base(self) -> int:
        """Number of the features that did not join."""
        ...

    def shared(self, other: Embedding) -> int:
        """Number of the first features that are those of another map."""
        ...

    def extended(self, points: Tensor, known: Tensor) -> Tensor:
        """Features (n, m) of points (n, d), of which the first (n, k) are known; k may be 0."""
        ...


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
        self.products = ByBlocks(_BLOCK, 0)
        self._sites = torch.zeros(0, 0, dtype=torch.float64)
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
            self._make_room(sites, known, embedding)
            block = self.products.length
            for start in range(known - known % block, len(sites), block):
                self._compute(embedding, sites[start : start + block], start, known)
            self._sites = sites
        return self._features[: len(sites), : embedding.dimension], self._residual[: len(sites)]

    def _shared(self, embedding: Embedding) -> int:
        """Number of features that are known."""
        if self._embedding is None or not isinstance(embedding, Extensible):
            return 0
        same_blocks = _block_of(embedding) == self.products.length
        return embedding.shared(self._embedding) if same_blocks else 0

    def _follow(self, embedding: Embedding, sites: Tensor) -> int:
        """Go over to another map; how many of these sites are known."""
        shared = self._shared(embedding)
        if self._embedding is not None and isinstance(embedding, Extensible) and shared:
            self._extend(embedding, sites, shared, self._embedding.dimension)
            self._embedding = embedding
            return len(sites)
        base = embedding.base if isinstance(embedding, Extensible) else embedding.dimension
        self._embedding, self.products = embedding, ByBlocks(_block_of(embedding), base)
        self._sites, self._features = sites[:0], sites.new_empty(0, 0)
        return 0

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
            residual = embedding.residual(whole, features)
            self._residual[rows] = residual[: rows.stop - start]
        self._sites = sites

    def _whole(self, rows: Tensor) -> Tensor:
        """A block, the last one filled up with its last row."""
        return torch.cat([rows, rows[-1:].expand(self.products.length - len(rows), -1)])

    def _compute(self, embedding: Embedding, rows: Tensor, start: int, known: int) -> None:
        """Fill in what is not known of a block that begins at `start`."""
        first, whole = max(start, known), self._whole(rows)
        features = _features(embedding, whole)
        place, new = slice(first, start + len(rows)), slice(first - start, len(rows))
        self._features[place, : features.shape[1]] = features[new]
        self._residual[place] = embedding.residual(whole, features)[new]

    def _make_room(self, sites: Tensor, known: int, embedding: Embedding) -> None:
        """Longer buffers where they are full; a sample that has seen the old ones keeps them."""
        if len(sites) <= len(self._features):
            return
        number = max(len(sites), 3 * known // 2)
        features = sites.new_empty(number, _width(embedding))
        residual = sites.new_empty(number)
        if known:
            features[:known] = self._features[:known]
            residual[:known] = self._residual[:known]
        self._features, self._residual = features, residual


def _features(embedding: Embedding, points: Tensor) -> Tensor:
    """Features of points, as those that join later leave them."""
    if isinstance(embedding, Extensible):
        return embedding.extended(points, points.new_zeros(len(points), 0))
    return embedding(points)


def _width(embedding: Embedding | Extensible) -> int:
    """Columns of the buffers, which follow from the map alone, however it came about."""
    if not isinstance(embedding, Extensible):
        return embedding.dimension
    width = max(embedding.base, 1)
    while width < embedding.dimension:
        width = math.ceil(_SPARE * width)
    return width


def _block_of(embedding: Embedding) -> int:
    return max(_BLOCK, 1 << (embedding.dimension - 1).bit_length())

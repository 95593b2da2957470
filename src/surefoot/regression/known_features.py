"""Features of the sites of a run, most of which are known from the sample before."""

from __future__ import annotations

import torch
from torch import Tensor

from surefoot.regression.embedding import Embedding
from surefoot.regression.products import ByBlocks

_BLOCK = 1024  # sites, at least as many as features


class KnownFeatures:
    """Features and residuals of the sites of a run under one feature map.

    They are computed in blocks, each of which has the same number of rows, so that the features of
    a site do not depend on when others were added, not even by rounding.

    Attributes:
        products: Their weighted sums.
    """

    def __init__(self) -> None:
        self._embedding: Embedding | None = None  # before the first sites
        self.products = ByBlocks(_BLOCK)
        self._sites = torch.zeros(0, 0, dtype=torch.float64)
        self._features = self._residual = self._sites

    @staticmethod
    def pays(embedding: Embedding, sites: Tensor) -> bool:
        """Whether there are several blocks of sites."""
        return len(sites) > _block_of(embedding)

    def of(self, embedding: Embedding, sites: Tensor) -> tuple[Tensor, Tensor]:
        """Features (S, m) and residuals (S,) of sites (S, d); those of the last map are known."""
        known = min(len(self._sites), len(sites))
        same = embedding is self._embedding and torch.equal(sites[:known], self._sites[:known])
        if not same:
            self._embedding, self.products, known = embedding, ByBlocks(_block_of(embedding)), 0
            self._sites, self._features = sites[:0], sites[:0]
        if len(sites) > known:
            self._make_room(sites, embedding.dimension)
            block = self.products.length
            for start in range(known - known % block, len(sites), block):
                self._compute(embedding, sites[start : start + block], start, known)
            self._sites = sites
        return self._features[: len(sites)], self._residual[: len(sites)]

    def _compute(self, embedding: Embedding, rows: Tensor, start: int, known: int) -> None:
        """Fill in what is not known of a block that begins at `start`."""
        first = max(start, known)
        whole = torch.cat([rows, rows[-1:].expand(self.products.length - len(rows), -1)])
        features = embedding(whole)
        place, new = slice(first, start + len(rows)), slice(first - start, len(rows))
        self._features[place] = features[new]
        self._residual[place] = embedding.residual(whole, features)[new]

    def _make_room(self, sites: Tensor, dimension: int) -> None:
        """Longer buffers where they are full; a sample that has seen the old ones keeps them."""
        known = len(self._sites)
        if len(sites) <= len(self._features):
            return
        number = max(len(sites), 3 * known // 2)
        features = sites.new_empty(number, dimension)
        residual = sites.new_empty(number)
        if known:
            features[:known], residual[:known] = self._features[:known], self._residual[:known]
        self._features, self._residual = features, residual


def _block_of(embedding: Embedding) -> int:
    return max(_BLOCK, 1 << (embedding.dimension - 1).bit_length())

"""Features of the sites of a run, most of which are known from the sample before."""

from __future__ import annotations

import torch
from torch import Tensor

from surefoot.regression.embedding import Embedding
from surefoot.regression.ridge import RidgeFactor

_BLOCK = 1024  # sites, at least as many as features


class KnownFeatures:
    """Features and residuals of the sites of a run under one feature map, and their part of V.

    They are computed in blocks, each of which has the same number of rows, so that the features of
    a site do not depend on when others were added, not even by rounding.
    """

    def __init__(self) -> None:
        self._embedding: Embedding | None = None  # before the first sites
        self._block = _BLOCK
        self._sites = torch.zeros(0, 0, dtype=torch.float64)
        self._features = self._residual = self._sites
        self._grams: list[tuple[Tensor, Tensor]] = []  # counts of each block, and its part of V

    @staticmethod
    def pays(embedding: Embedding, sites: Tensor) -> bool:
        """Whether there are several blocks of sites."""
        return len(sites) > _block_of(embedding)

    def of(self, embedding: Embedding, sites: Tensor) -> tuple[Tensor, Tensor]:
        """Features (S, m) and residuals (S,) of sites (S, d); those of the last map are known."""
        known = min(len(self._sites), len(sites))
        same = embedding is self._embedding and torch.equal(sites[:known], self._sites[:known])
        if not same:
            self._embedding, self._block, known = embedding, _block_of(embedding), 0
            self._sites, self._features, self._grams = sites[:0], sites[:0], []
        if len(sites) > known:
            self._make_room(sites, embedding.dimension)
            for start in range(known - known % self._block, len(sites), self._block):
                self._compute(embedding, sites[start : start + self._block], start, known)
            self._sites = sites
        return self._features[: len(sites)], self._residual[: len(sites)]

    def factor(self, ridge: float, counts: Tensor) -> RidgeFactor:
        """V of the first sites, with so many pulls (S,) of each."""
        dimension = self._features.shape[1]
        gram = ridge * torch.eye(dimension, dtype=torch.float64, device=counts.device)
        for index, weights in enumerate(counts.split(self._block)):
            if index == len(self._grams):
                self._grams.append((weights[:0], gram))
            if not torch.equal(self._grams[index][0], weights):
                rows = self._features[index * self._block :][: len(weights)]
                self._grams[index] = weights.clone(), rows.T @ (rows * weights[:, None])
            gram = gram + self._grams[index][1]
        return RidgeFactor(ridge, gram)

    def _compute(self, embedding: Embedding, rows: Tensor, start: int, known: int) -> None:
        """Fill in what is not known of a block that begins at `start`."""
        first = max(start, known)
        whole = torch.cat([rows, rows[-1:].expand(self._block - len(rows), -1)])
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

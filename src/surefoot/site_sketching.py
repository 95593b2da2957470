"""Random dictionaries of the points measured on a box, and when to draw them anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot import kernels
from surefoot.features.dictionary import Dictionary
from surefoot.features.nystrom import NystromEmbedding
from surefoot.features.random_dictionary import Nystrom
from surefoot.ridge import RidgeFactor

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.history import History


class SiteSketching:
    """Keeps a dictionary of sites drawn by `rule`, by their variance at the last draw."""

    def __init__(
        self, rule: Nystrom, kernel: Kernel, ridge: float, generator: torch.Generator
    ) -> None:
        self._rule = rule
        self._kernel = kernel
        self._ridge = ridge
        self._generator = generator
        self._explained = 0.0
        self._counted = False  # a measurement since the last draw
        self._embedding: NystromEmbedding | None = None
        self._factor: RidgeFactor | None = None  # at the last draw

    def count(self, point: Tensor) -> None:
        """Count a measurement at a point (d,) against what one dictionary may explain."""
        self._explained += float(self._variance(point.unsqueeze(0))) / self._ridge
        self._counted = True

    def features(self, history: History) -> Dictionary:
        """Features on the dictionary for these measurements, drawn anew where that is due."""
        embedding = self._embedding
        if embedding is None or (self._counted and self._rule.is_due(self._explained)):
            sites, counts = history.sites, history.counts
            relative = self._variance(sites) / self._ridge
            chosen = sites[self._rule.draw(relative, counts, self._generator).to(sites.device)]
            if len(chosen) == 0:
                chosen = sites[history.site[-1:]]
            embedding = self._begin(chosen, sites, counts)
        return Dictionary(embedding.dictionary)

    def state(self) -> dict[str, Tensor]:
        """All that changes, as tensors."""
        explained = [self._explained, float(self._counted)]
        tensors = {"sketch.explained": torch.tensor(explained, dtype=torch.float64)}
        if self._embedding is not None and self._factor is not None:
            tensors["sketch.dictionary"] = self._embedding.dictionary
            tensors["sketch.gram"] = self._factor.gram
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Go on from a state."""
        self._explained, counted = tensors["sketch.explained"].tolist()
        self._counted = bool(counted)
        if "sketch.dictionary" in tensors:
            self._embedding = NystromEmbedding.rooted(self._kernel, tensors["sketch.dictionary"])
            self._factor = RidgeFactor(self._ridge, tensors["sketch.gram"])

    def _begin(self, chosen: Tensor, sites: Tensor, counts: Tensor) -> NystromEmbedding:
        dictionary = NystromEmbedding.of(self._kernel, chosen).dictionary
        self._embedding = embedding = NystromEmbedding.rooted(self._kernel, dictionary)
        self._factor = RidgeFactor.of(embedding(sites), self._ridge, counts)
        self._explained, self._counted = 0.0, False
        return embedding

    def _variance(self, points: Tensor) -> Tensor:
        """sigma^2 (n,) at the last draw, before it k(x, x)."""
        if self._embedding is None or self._factor is None:
            return kernels.diagonal(self._kernel, points)
        features = self._embedding(points)
        explained = self._ridge * self._factor.leverage(features)
        return self._embedding.residual(points, features) + explained

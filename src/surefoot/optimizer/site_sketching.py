"""Random dictionaries of the points measured on a box, and when to draw them anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot import kernels
from surefoot.features.dictionary import Dictionary
from surefoot.features.nystrom import NystromEmbedding
from surefoot.features.random_dictionary import Nystrom
from surefoot.regression.ridge import RidgeFactor
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.regression.observations import History


class SiteSketching:
    """Keeps a dictionary of sites drawn by `rule`, by their variance at the last draw."""

    def __init__(
        self, rule: Nystrom, kernel: Kernel, ridge: float, generator: torch.Generator
    ) -> None:
        if rule.resample == "incremental":
            raise InvalidInput(
                "`resample` is 'incremental', which is there for arms: on a box pass "
                "'every-round' or 'adaptive'."
            )
        self._rule = rule
        self._kernel = kernel
        self._ridge = ridge
        self._generator = generator
        self._explained = 0.0
        self._members = torch.zeros(0)  # (m, d), the dictionary
        self._embedding: NystromEmbedding | None = None
        self._factor: RidgeFactor | None = None  # at the last draw

    def count(self, history: History) -> None:
        """Take in the measurement that the history has just taken in; draw anew if that is due."""
        point = history.sites[history.site[-1:]]
        self._explained += float(self._variance(point)) / self._ridge
        if self._embedding is None or self._rule.is_due(self._explained):
            sites, counts = history.sites, history.counts
            relative = self._variance(sites) / self._ridge
            chosen = sites[self._rule.draw(relative, counts, self._generator).to(sites.device)]
            self._begin(chosen if len(chosen) else point, sites, counts)

    @property
    def features(self) -> Dictionary:
        """Features on the dictionary, after the first measurement."""
        return Dictionary(self._members)

    def state(self) -> dict[str, Tensor]:
        """All that changes, as tensors."""
        tensors = {"sketch.explained": torch.tensor(self._explained, dtype=torch.float64)}
        if self._embedding is not None and self._factor is not None:
            tensors["sketch.dictionary"] = self._members
            tensors["sketch.gram"] = self._factor.gram
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Go on from a state."""
        self._explained = float(tensors["sketch.explained"])
        if "sketch.dictionary" in tensors:
            self._members = tensors["sketch.dictionary"]
            self._embedding = NystromEmbedding.of(self._kernel, self._members)
            self._factor = RidgeFactor(self._ridge, tensors["sketch.gram"])

    def _begin(self, chosen: Tensor, sites: Tensor, counts: Tensor) -> None:
        """The dictionary is `chosen`, but for what the rest of it explains."""
        dictionary = NystromEmbedding.of(self._kernel, chosen).dictionary
        self._members = dictionary if len(dictionary) else chosen[:1]  # the kernel is 0 there
        self._embedding = NystromEmbedding.of(self._kernel, self._members)
        self._factor = RidgeFactor.of(self._embedding(sites), self._ridge, counts)
        self._explained = 0.0

    def _variance(self, points: Tensor) -> Tensor:
        """sigma^2 (n,) at the last draw, before it k(x, x)."""
        if self._embedding is None or self._factor is None:
            return kernels.diagonal(self._kernel, points)
        features = self._embedding(points)
        explained = self._ridge * self._factor.leverage(features)
        return self._embedding.residual(points, features) + explained

"""Random dictionaries of the points measured in a box."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot import kernels
from surefoot.features.nystrom_embedding import NystromEmbedding
from surefoot.features.sketched import Sampling
from surefoot.regression.observations import Observations, Pull
from surefoot.regression.ridge import RidgeFactor

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


@dataclass(eq=False)
class SampledDictionary:
    """A dictionary of sites, drawn by their variance at the last draw.

    Args:
        rule: Says when to draw, and with which probabilities.
        kernel: The prior covariance.
        ridge: Regularisation.
        generator: Source of the draws.
        members: Points (m, d) of the dictionary: (0, d) before the first pull.
    """

    rule: Sampling = field(metadata={"saved": False})
    kernel: Kernel = field(metadata={"saved": False})
    ridge: float
    generator: torch.Generator = field(metadata={"saved": False})
    members: Tensor
    explained: float = 0.0  # sum of sigma^2 / ridge of the pulls since the last draw
    factor: RidgeFactor = field(init=False)  # at the last draw
    pulled: Observations = field(init=False)  # the points, with rewards of 0
    _map: NystromEmbedding = field(init=False, metadata={"saved": False})

    def __post_init__(self) -> None:
        self.factor = RidgeFactor.of(self.members, self.ridge)
        self.pulled = Observations(self.members.shape[1], self.members.device)

    def update(self, pull: Pull) -> None:
        point = pull.point.unsqueeze(0)
        for _ in range(pull.times):
            self.pulled.append(pull.point, 0.0)
        self.explained += pull.times * float(self._variance(point)) / self.ridge
        if len(self.members) == 0 or self.rule.is_due(self.explained, pull.more):
            self._draw(point)

    def embedding(self, sites: Tensor) -> NystromEmbedding:
        return self._map

    def after_load(self) -> None:
        """The feature map of the dictionary, which is not saved."""
        if len(self.members):
            self._map = NystromEmbedding.of(self.kernel, self.members)

    def _draw(self, last: Tensor) -> None:
        """A new dictionary, without points that depend linearly on the others."""
        sites, counts = self.pulled.sites, self.pulled.counts
        relative = self._variance(sites) / self.ridge
        chosen = sites[self.rule.draw(relative, counts, self.generator).to(sites.device)]
        chosen = chosen if len(chosen) else last
        dictionary = NystromEmbedding.of(self.kernel, chosen).dictionary
        self.members = dictionary if len(dictionary) else chosen[:1]  # the kernel is 0 there
        self.after_load()
        self.factor = RidgeFactor.of(self._map(sites), self.ridge, counts)
        self.explained = 0.0

    def _variance(self, points: Tensor) -> Tensor:
        """sigma^2 (n,) at the last draw; before it, k(x, x)."""
        if len(self.members) == 0:
            return kernels.diagonal(self.kernel, points)
        features = self._map(points)
        explained = self.ridge * self.factor.leverage(features)
        return self._map.residual(points, features) + explained

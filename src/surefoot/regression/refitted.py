"""Ridge regression in features that are chosen again as points are measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from surefoot.regression.embedding import Embedding
from surefoot.regression.known_features import KnownFeatures
from surefoot.regression.observations import Observations, Pull
from surefoot.regression.posterior import FeaturePosterior, Posterior
from surefoot.regression.products import AT_ONCE, Products
from surefoot.regression.regression import Estimate
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.sample import Sample
from surefoot.regression.units import RewardUnits


class FeatureChoice(Protocol):
    """The feature map for the points measured so far; what it keeps is saved."""

    def update(self, pull: Pull) -> None:
        """Take in a measured point."""

    def embedding(self, sites: Tensor) -> Embedding:
        """The feature map for all distinct points (S, d), in order of first measurement."""


@dataclass(frozen=True)
class FixedMap:
    """A feature map that lasts."""

    map: Embedding = field(metadata={"saved": False})

    def update(self, pull: Pull) -> None:
        """Nothing depends on the points."""

    def embedding(self, sites: Tensor) -> Embedding:
        return self.map


@dataclass(eq=False)
class Refitted:
    """Features and V from all sites after each reward, at a cost that grows with the sites.

    Of many sites, features are known as long as the feature map stays.

    Args:
        choice: Chooses the feature map.
        ridge: Regularisation.
        version: A number that changes with the features.
        known: Features that are known.
    """

    choice: FeatureChoice
    ridge: float
    version: int = 0
    known: KnownFeatures = field(default_factory=KnownFeatures, metadata={"saved": False})

    batched = False
    is_due = False
    max_dimension = 2**20

    def update(self, pull: Pull) -> None:
        self.version += 1
        self.choice.update(pull)

    def redrawn(self, observations: Observations, generator: torch.Generator) -> Refitted:
        """Itself: features are chosen for each sample."""
        return self

    def current(self, observations: Observations) -> Refitted:
        return self

    def with_ridges(self, ridges: Sequence[float]) -> tuple[Refitted, ...]:
        """The same features with other regularisations."""
        return tuple(Refitted(self.choice, each, self.version, self.known) for each in ridges)

    def sample(self, observations: Observations, units: RewardUnits) -> Sample:
        sites = observations.sites
        embedding = self.choice.embedding(sites)
        products: Products = AT_ONCE
        if self.known.pays(embedding, sites):
            features, residual = self.known.of(embedding, sites)
            products = self.known.products
        else:
            features = embedding(sites)
            residual = embedding.residual(sites, features)
        factor = RidgeFactor.of(features, self.ridge, observations.counts, products)
        leverage = partial(_leverage, factor, features)
        return Sample(
            factor, features, residual, self.version, leverage, observations, units, products
        )

    def posterior(self, sample: Sample, estimate: Estimate) -> FeaturePosterior:
        units = estimate.prior_units(sample.units)
        return FeaturePosterior(
            self.choice.embedding(sample.observations.sites),
            sample.factor_of(estimate.counts),
            estimate.coefficients,
            units.center,
            units.scale,
        )

    def kept(
        self, posterior: Posterior | None, sample: Sample, estimate: Estimate
    ) -> FeaturePosterior:
        return self.posterior(sample, estimate)


def _leverage(factor: RidgeFactor, features: Tensor, chosen: np.ndarray) -> np.ndarray:
    """phi' V^{-1} phi (k,) at chosen sites (k,)."""
    return factor.leverage(features[torch.from_numpy(chosen)]).cpu().numpy()

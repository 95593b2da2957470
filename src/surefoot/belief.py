"""From history to posterior: features, factor and coefficients, kept up as rewards arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot.estimators import Estimate, Estimator, Sample
from surefoot.features import Embedding, Features
from surefoot.features.nystrom import NystromEmbedding
from surefoot.history import History
from surefoot.posterior import Posterior
from surefoot.ridge import RidgeFactor

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


@dataclass(frozen=True)
class Units:
    """Rewards as the model sees them: (y - centre) / scale."""

    centre: float = 0.0
    scale: float = 1.0

    def of(self, rewards: Tensor) -> Tensor:
        """Rewards (t,) in these units; the very same tensor where they are the rewards' own."""
        if self.centre == 0.0 and self.scale == 1.0:
            return rewards
        return (rewards - self.centre) / self.scale


@dataclass(frozen=True, eq=False)
class Carry:
    """What one belief hands to the next, so that it need not begin from nothing."""

    weights: Tensor | None = None  # (k,), of the first k rewards
    dictionary: Tensor | None = None  # (m, d), for the same kernel
    sites: int = 0  # that the dictionary was chosen for


@dataclass(frozen=True, eq=False)
class Belief:
    """A posterior with the estimate behind it and the x-only factor of the sites."""

    posterior: Posterior
    estimate: Estimate
    factor: RidgeFactor
    sites: int

    def carry(self) -> Carry:
        """What the next belief may start from."""
        embedding = self.posterior.embedding
        dictionary = embedding.dictionary if isinstance(embedding, NystromEmbedding) else None
        return Carry(self.estimate.precisions, dictionary, self.sites)


def believe(
    history: History,
    kernel: Kernel,
    features: Features,
    estimator: Estimator,
    ridge: float,
    units: Units,
    carry: Carry,
    embedding: Embedding | None = None,
) -> Belief:
    """The posterior of all rewards in the history.

    Without `embedding`, the rule `features` chooses one for the sites of the history.
    """
    sites = history.sites
    if embedding is None:
        fresh = len(sites) - carry.sites
        embedding = features.embed(kernel, sites, carry.dictionary, fresh)
    phi = embedding(sites)
    factor = RidgeFactor.of(phi, ridge, history.counts)
    sample = Sample(
        features=phi,
        residual=embedding.residual(sites, phi),
        counts=history.counts,
        sums=(history.sums - units.centre * history.counts) / units.scale,
        site=history.site,
        rewards=units.of(history.rewards),
    )
    with torch.no_grad():
        estimate = estimator(factor, sample, carry.weights)
    posterior = Posterior(
        embedding, estimate.factor, estimate.coefficients, units.centre, units.scale
    )
    return Belief(posterior, estimate, factor, len(sites))

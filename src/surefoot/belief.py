"""From history to posterior: features, factor and coefficients, kept up as rewards arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from surefoot.estimators import Estimate, Estimator, Sample
from surefoot.features import Embedding, Features
from surefoot.history import History
from surefoot.posterior import Posterior
from surefoot.ridge import RidgeFactor

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


@dataclass(frozen=True, eq=False)
class Belief:
    """A posterior with the estimate behind it and the x-only factor of the sites."""

    posterior: Posterior
    estimate: Estimate
    factor: RidgeFactor
    sites_embedded: int


@dataclass(frozen=True)
class Units:
    """Rewards as the model sees them: (y - centre) / scale."""

    centre: float = 0.0
    scale: float = 1.0


def believe(
    history: History,
    kernel: Kernel,
    features: Features,
    estimator: Estimator,
    ridge: float,
    units: Units,
    *,
    embedding: Embedding | None = None,
    previous: Estimate | None = None,
) -> Belief:
    """The posterior of all rewards in the history.

    Without `embedding`, the rule `features` chooses one for the sites of the history.
    """
    sites = history.sites
    embedding = embedding or features.embed(kernel, sites)
    phi: Tensor = embedding(sites)
    factor = RidgeFactor.of(phi, ridge, history.counts)
    sample = Sample(
        features=phi,
        residual=embedding.residual(sites, phi),
        counts=history.counts,
        sums=(history.sums - units.centre * history.counts) / units.scale,
        site=history.site,
        rewards=(history.rewards - units.centre) / units.scale,
    )
    estimate = estimator(factor, sample, previous)
    posterior = Posterior(
        embedding, estimate.factor, estimate.coefficients, units.centre, units.scale
    )
    return Belief(posterior, estimate, factor, len(sites))

"""From history to posterior: features, factor and coefficients, kept up as rewards arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot.estimators import Estimate, Estimator, Sample
from surefoot.features import Features
from surefoot.features.nystrom import NystromEmbedding
from surefoot.history import History
from surefoot.posterior import ArmValues, Posterior
from surefoot.ridge import RidgeFactor
from surefoot.tally import Tally

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


FURTHEST = 1e6  # robust deviations


@dataclass(frozen=True)
class Units:
    """Rewards as the model sees them: (y - centre) / scale, drawn in to +-1e6 where that is wild.

    A measurement a million deviations off (a sentinel, an overflow) says no more than that.
    """

    centre: float = 0.0
    scale: float = 1.0

    def of(self, rewards: Tensor) -> Tensor:
        """Rewards (t,) in these units; the very same tensor where they are the rewards' own."""
        if self.trivial:
            return rewards
        return ((rewards - self.centre) / self.scale).clamp(-FURTHEST, FURTHEST)

    @property
    def trivial(self) -> bool:
        """Whether these are the rewards' own units."""
        return self.centre == 0.0 and self.scale == 1.0


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
) -> Belief:
    """The posterior of all rewards in the history, in the features chosen for its sites."""
    sites = history.sites
    fresh = len(sites) - carry.sites
    embedding = features.embed(kernel, sites, carry.dictionary, fresh)
    phi = embedding(sites)
    factor = RidgeFactor.of(phi, ridge, history.counts)
    rewards = units.of(history.rewards)
    sample = Sample(
        features=phi,
        residual=embedding.residual(sites, phi),
        counts=history.counts,
        sums=_sums(history.site, rewards, len(sites)),
        site=history.site,
        rewards=rewards,
    )
    with torch.no_grad():
        estimate = estimator(factor, sample, carry.weights)
    posterior = Posterior(
        embedding, estimate.factor, estimate.coefficients, units.centre, units.scale
    )
    return Belief(posterior, estimate, factor, len(sites))


def believe_tally(
    tally: Tally, rewards: Tensor, estimator: Estimator, units: Units, carry: Carry
) -> Belief:
    """The posterior of all pulls in the tally, whose raw rewards are (t,)."""
    table, factor = tally.table, tally.factor
    standard = units.of(rewards)
    sample = Sample(
        features=table.features,
        residual=table.residuals,
        counts=tally.counts,
        sums=tally.sums if units.trivial else _sums(tally.arm, standard, len(tally.sums)),
        site=tally.arm,
        rewards=standard,
        known_moments=tally.moments if units.trivial else None,
        changed=tally.changed,
        last_changed=tally.last_changed,
        live=tally.live,
        leverage=tally.leverage,
    )
    with torch.no_grad():
        estimate = estimator(factor, sample, carry.weights)
        mean = units.centre + units.scale * tally.products(estimate.coefficients)
        if estimate.factor is factor:
            leverage = tally.leverage
        else:
            leverage = estimate.factor.leverage(table.features)
        deviation = units.scale * (table.residuals + tally.ridge * leverage).clamp_min(1e-18).sqrt()
    posterior = Posterior(
        table,
        estimate.factor,
        estimate.coefficients,
        units.centre,
        units.scale,
        ArmValues(table.points, mean, deviation),
    )
    return Belief(posterior, estimate, factor, 0)


def _sums(site: Tensor, rewards: Tensor, sites: int) -> Tensor:
    return rewards.new_zeros(sites).index_add_(0, site, rewards)

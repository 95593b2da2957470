"""From history to posterior: features, factor and coefficients, kept up as rewards arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot.estimators import Estimate, Estimator, Measured, Sample
from surefoot.estimators.digest import Digest
from surefoot.features import Features
from surefoot.features.nystrom import NystromEmbedding
from surefoot.hyperparameters.empirical_bayes import likeliest_prior
from surefoot.optimizer.tally import Tally
from surefoot.regression.observations import History
from surefoot.regression.posterior import LEAST_VARIANCE, ArmValues, Posterior
from surefoot.regression.ridge import RidgeFactor

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


FURTHEST = 1e6  # robust deviations


@dataclass(frozen=True)
class Units:
    """Rewards as the model sees them: (y - centre) / scale, drawn in to +-1e6 where that is wild.

    A measurement a million deviations off (a sentinel, an overflow) says no more than that. Where
    they are `provisional`, mean and deviation of the prior are those that the fit makes likeliest.
    """

    centre: float = 0.0
    scale: float = 1.0
    provisional: bool = False  # whether the prior has another mean and deviation than these

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
    """A posterior with the estimate behind it, in its units, and the x-only factor of the sites."""

    posterior: Posterior
    estimate: Estimate
    factor: RidgeFactor
    sites: int
    units: Units

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
        of_prior, coefficients = _prior(units, factor, sample, estimate)
    posterior = Posterior(embedding, estimate.factor, coefficients, of_prior.centre, of_prior.scale)
    return Belief(posterior, estimate, factor, len(sites), units)


def believe_tally(tally: Tally, estimator: Estimator, units: Units, carry: Carry) -> Belief:
    """The posterior of all pulls in the tally."""
    factor, table = tally.factor, tally.table
    sample = _measured(tally, units)
    estimate = estimator(factor, sample, carry.weights)
    of_prior, coefficients = _prior(units, factor, sample, estimate)
    mean = tally.products(coefficients)
    device = mean.device
    posterior_factor = estimate.factor.to(device)
    variance = tally.variance if estimate.factor is factor else table.variance(posterior_factor)
    deviation = variance.clamp_min(LEAST_VARIANCE).sqrt_()
    if not of_prior.trivial:
        mean, deviation = of_prior.centre + of_prior.scale * mean, of_prior.scale * deviation
    posterior = Posterior(
        table,
        posterior_factor,
        coefficients.to(device),
        of_prior.centre,
        of_prior.scale,
        ArmValues(table.points, mean, deviation),
    )
    return Belief(posterior, estimate, factor, 0, units)


def reward_weights(tally: Tally, estimator: Estimator, units: Units) -> Tensor | None:
    """Weights (t,) of all rewards, which the estimator's log does not keep one by one; O(t)."""
    sample = _plain(tally, units)
    return estimator(tally.factor, sample).weights


def _prior(
    units: Units, factor: RidgeFactor, sample: Measured, estimate: Estimate
) -> tuple[Units, Tensor]:
    """Mean and deviation of the prior, as units, and the estimate in those."""
    if not units.provisional:
        return units, estimate.coefficients
    mean, width, coefficients = likeliest_prior(factor, sample, estimate.coefficients)
    return Units(units.centre + units.scale * mean, units.scale * width), coefficients / width


def _measured(tally: Tally, units: Units) -> Measured:
    """What the estimator needs, in the model's units; the tally has it where they are the raw."""
    if isinstance(tally.log, Digest):
        site, value, mass = tally.log.columns
        rewards = units.of(value)
        sums = tally.sums.new_zeros(len(tally.sums)).index_add_(0, site, mass * rewards)
        return Sample(
            tally.features, tally.residual, tally.counts, sums, site, rewards, mass, tally.log
        )
    if units.trivial:
        return tally
    return _plain(tally, units)


def _plain(tally: Tally, units: Units) -> Sample:
    rewards = units.of(tally.rewards)
    sums = _sums(tally.site, rewards, len(tally.sums))
    return Sample(tally.features, tally.residual, tally.counts, sums, tally.site, rewards)


def _sums(site: Tensor, rewards: Tensor, sites: int) -> Tensor:
    return rewards.new_zeros(sites).index_add_(0, site, rewards)

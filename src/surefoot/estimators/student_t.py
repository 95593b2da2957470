"""Student-t noise: outliers lose their weight by its likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.numbers import LAST_DIGITS, NEW_SHARE, ROWS_AT_ONCE
from surefoot.estimators.digest import ALL_KEPT, Digest, WeightedValues
from surefoot.estimators.estimator import Constants
from surefoot.regression.noise import Noise
from surefoot.regression.regression import OUTLIER_WEIGHT, Estimate
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.sample import Sample
from surefoot.regression.spread import median, robust_spread


@dataclass(frozen=True, eq=False)
class StudentTState:
    """The rewards, and what the last estimate ended with.

    Args:
        dof: Degrees of freedom of the noise.
        weights: Precisions (k,) of the first values.
        digest: The rewards.
        merges: The digest's merges when the weights were found.
        all_at: Number of rewards when those of all were.
        turn: The part of the sites whose turn it is before that happens again.
    """

    dof: float
    weights: Tensor
    digest: Digest = field(default_factory=Digest)
    merges: int = 0
    all_at: int = 0
    turn: int = 0

    @property
    def knows_most(self) -> bool:
        """Whether few of many rewards are new since the weights of all were found."""
        few = ALL_KEPT < self.digest.number <= (1.0 + NEW_SHARE) * self.all_at
        return few and self.merges == self.digest.merges


@dataclass(frozen=True)
class StudentT:
    """Variational regression with Student-t noise of variance parameter `ridge`.

    Each reward has its own precision tau ~ Gamma; its expectation
    w = (nu + 1) / (nu + E[r^2] / ridge), with E[r^2] = (y - mu)^2 + sigma^2, is the weight of the
    reward in the coefficients, in V and so in the posterior variance. Rewards must be in units in
    which the noise variance is the ridge. Fitted hyperparameters include the degrees of freedom.

    A reward with a standard error has a Gaussian error of that size in addition to the Student-t
    noise: its noise variance is ridge / w + sem^2, where w is computed from the expected square of
    the Student-t noise alone.

    With Nyström features, what they leave of the prior variance at a site is in addition to its
    noise (the fully independent training conditional).

    Beyond 1,024 rewards the iterations are incremental: an estimate renews the weights at 1,024
    sites, in turn, and near the new rewards, each of which raises the lower bound of the evidence;
    once 1 % of the rewards are new, all weights.

    Args:
        dof: Degrees of freedom nu, where none are fitted.
        passes: Largest number of iterations.
        tolerance: Change of the weights at which iterations end.

    Raises:
        InvalidInput: If an argument is not positive.

    References:
        Tipping and Lawrence 2005, "Variational inference for Student-t models", eq. 12-17;
        Neal and Hinton 1998, "A view of the EM algorithm that justifies incremental, sparse, and
        other variants"; Snelson and Ghahramani 2006, "Sparse Gaussian processes using
        pseudo-inputs".

    Example:
        >>> import surefoot as sf
        >>> estimator = sf.StudentT(dof=4.0)
    """

    dof: float = 4.0
    passes: int = 8
    tolerance: float = 1e-2

    def __post_init__(self) -> None:
        checks.positive("dof", self.dof)
        checks.count("passes", self.passes)
        checks.positive("tolerance", self.tolerance)

    def init(self, constants: Constants) -> StudentTState:
        """The state before the first reward."""
        dof = constants.dof if math.isfinite(constants.dof) else self.dof
        return StudentTState(dof, constants.weights)

    def update(self, state: StudentTState, site: int, reward: float) -> StudentTState:
        """The state after one more reward at a site."""
        state.digest.append(site, reward)
        return state

    def update_with_error(
        self, state: StudentTState, site: int, reward: float, sem: float
    ) -> StudentTState:
        """The state after one more reward with a standard error."""
        state.digest.append(site, reward, sem)
        return state

    def estimate(self, state: StudentTState, sample: Sample) -> tuple[Estimate, StudentTState]:
        """The estimate from all rewards, and the next state."""
        values, ridge, dof = state.digest.weighted(sample), sample.factor.ridge, state.dof
        known = state.weights if state.merges == state.digest.merges else state.weights[:0]
        if state.knows_most:  # what is new is judged by what all others say
            weights = torch.full_like(values.value, LAST_DIGITS)
            weights[: len(known)] = known
            part = _part(values, len(known), state.turn)
        else:
            weights = cautious_weights(values.value, known.to(values.value), values.mass)
            part = _Part(slice(None), slice(None), values.site)
        for _ in range(self.passes):
            update = _renewed(values, weights, dof, part)
            moved = float((update - weights).abs().max())
            weights = update
            if moved <= self.tolerance:
                break
        fit = _fit(values, weights)
        outlying = weights < OUTLIER_WEIGHT
        estimate = Estimate(
            fit.coefficients,
            fit.counts,
            (ridge * (dof + 2.0)) ** 0.5,  # where w = (nu + 1) / (2 nu + 2) = 1/2
            round(float(values.mass[outlying].sum())),
            bool(outlying[-1]),
        )
        latest = (state.digest.number, 0)
        all_at, turn = (state.all_at, state.turn + 1) if state.knows_most else latest
        after = replace(
            state, weights=weights.cpu(), merges=state.digest.merges, all_at=all_at, turn=turn
        )
        return estimate, after

    def weights(self, estimate: Estimate, sample: Sample) -> Tensor:
        """The weight in [0, 1] of each reward (t,), apart from its standard error."""
        ridge, site, rewards = sample.factor.ridge, sample.site, sample.rewards
        dof = estimate.threshold**2 / ridge - 2.0
        factor = sample.factor_of(estimate.counts)
        share = 1.0 - estimate.counts * sample.residual / ridge
        explained = sample.features @ estimate.coefficients
        variance = _variance(factor, sample, share, slice(None))
        weights = torch.ones_like(rewards)
        for _ in range(self.passes):
            noise = Noise(ridge, weights, sample.error_variances, dof)
            inverse = 1.0 / noise.variances
            average = sample.totals(inverse * rewards) / sample.totals(inverse)
            mean = share * explained + (1.0 - share) * average
            weights = noise.updated((rewards - mean[site]).square() + variance[site])
        return weights.clamp_max(1.0)


def cautious_weights(
    rewards: Tensor, known: Tensor | None = None, mass: Tensor | None = None
) -> Tensor:
    """Weights (t,) to start from: those known of the first rewards, cautious ones for the rest.

    The bound has several optima: a lone spike started at full weight is interpolated, and then
    fits well. Started low, it is judged by what its neighbors say.
    """
    mass = torch.ones_like(rewards) if mass is None else mass
    centered = (rewards - median(rewards, mass)) / robust_spread(rewards, mass)
    weights = (1.0 / (1.0 + (centered / 3.0).square())).clamp_min(LAST_DIGITS)
    if known is not None:
        weights[: len(known)] = known
    return weights


class _Part(NamedTuple):
    """Sites, and the values there."""

    sites: Tensor | slice  # (p,), indices
    values: Tensor | slice  # (q,), indices
    place: Tensor  # (q,), the site of each value among the sites


def _part(values: WeightedValues, known: int, turn: int) -> _Part:
    """Sites whose turn it is and those beside the values that are not known, as far as they go."""
    number = len(values.sample.features)
    own = torch.tensor([turn % math.ceil(number / ROWS_AT_ONCE)], device=values.site.device)
    chosen = torch.cat([own, values.site[known:] // ROWS_AT_ONCE]).unique()
    sites = (
        chosen[:, None] * ROWS_AT_ONCE + torch.arange(ROWS_AT_ONCE, device=chosen.device)
    ).flatten()
    sites = sites[sites < number]
    place = torch.full((number,), -1, device=sites.device)
    place[sites] = torch.arange(len(sites), device=sites.device)
    place = place[values.site]
    here = (place >= 0).nonzero()[:, 0]
    return _Part(sites, here, place[here])


def _renewed(values: WeightedValues, weights: Tensor, dof: float, part: _Part) -> Tensor:
    """The weights, those in a part as they follow from the fit under the present ones."""
    fit, sample, here = _fit(values, weights), values.sample, part.values
    mean = fit.mean(sample, part.sites)[part.place]
    variance = _variance(fit.factor, sample, fit.share, part.sites)[part.place]
    squared = (values.value[here] - mean).square() + variance
    noise = Noise(sample.factor.ridge, weights[here], values.errors[here], dof)
    renewed = weights.clone()
    renewed[here] = noise.updated(squared)
    return renewed


class _Fit(NamedTuple):
    """Coefficients, and what the posterior at the sites follows from, in the model's units."""

    coefficients: Tensor  # (m,)
    counts: Tensor  # (S,), the weight of each site in V
    sums: Tensor  # (S,), of the weighted values at each site
    factor: RidgeFactor  # V
    share: Tensor  # (S,), of the features in the mean, beside that of the rewards there

    def mean(self, sample: Sample, sites: Tensor | slice) -> Tensor:
        """Posterior mean of the function at sites (p,)."""
        alone = sample.residual[sites] / sample.factor.ridge * self.sums[sites]
        return self.share[sites] * (sample.features[sites] @ self.coefficients + alone)


def _fit(values: WeightedValues, weights: Tensor) -> _Fit:
    """Regression under noise variances ridge / weights + errors.

    What the features leave of the prior covariance is a deviation of the function at each site,
    independent of those at the others (FITC): where it is larger than the noise, coefficients that
    fit every reward to the noise would be certain of a function that is not there.
    """
    sample = values.sample
    ridge, residual = sample.factor.ridge, sample.residual
    effective = weights / (1.0 + weights * values.errors / ridge)
    totals, sums = values.totals(effective), values.totals(effective * values.value)
    share = 1.0 / (1.0 + totals * residual / ridge)
    counts = share * totals
    factor = sample.factor_of(counts)
    return _Fit(factor.solve(sample.moments(share * sums)), counts, sums, factor, share)


def _variance(factor: RidgeFactor, sample: Sample, share: Tensor, sites: Tensor | slice) -> Tensor:
    """Posterior variance of the function at sites (p,).

    Args:
        factor: V.
        sample: The geometry.
        share: Share (S,) of the features in the posterior mean, beside that of the rewards there.
        sites: The sites.
    """
    explained = sample.factor.ridge * factor.leverages(sample.features[sites])
    return share[sites].square() * explained + share[sites] * sample.residual[sites]

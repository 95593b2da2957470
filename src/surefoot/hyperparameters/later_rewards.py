"""Weights of rewards that a fit has not seen: beyond those of its ascent, or later than it."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from surefoot.hyperparameters.ascent import E_STEPS, with_bound
from surefoot.hyperparameters.evidence import Evidence, solve, weights_beside
from surefoot.hyperparameters.laplace import PosteriorMode
from surefoot.hyperparameters.standardisation import evidence_in
from surefoot.hyperparameters.training_data import MOST_TOGETHER, TrainingData
from surefoot.regression.noise import Noise, precision
from surefoot.regression.units import RewardUnits

_SETTLED = 3e-3  # change of every weight in a pass, after which there is no other


def completed_weights(
    weights: Tensor,
    known: Tensor,
    mode: PosteriorMode,
    units: RewardUnits,
    data: TrainingData,
) -> Tensor:
    """Weights (t,) of all rewards, of which those of some are known.

    Each of the others gets the weight that it has beside the known ones; up to 1,000 rewards, all
    of them then those that they have together.

    Args:
        weights: The known weights, and others to start from (t,).
        known: Indices (k,) of the known ones.
        mode: The mode of which they are, whose kernel and effects stay.
        units: The standardised units.
        data: The observations.
    """
    number, model, dof = len(data.rewards), mode.model, mode.dof
    if len(known) == number:
        return weights

    def evidence_of(part: TrainingData) -> Evidence:
        effects = tuple(one.on(part.conditions) for one in mode.evidence.effects)
        alone = evidence_in(part, units, mode.evidence.family, mode.evidence.prior)
        return replace(alone, effects=effects)

    completed, others = weights.clone(), torch.ones_like(weights, dtype=torch.bool)
    others[known] = False
    first = evidence_of(data.at(known))
    noise = Noise(model.noise, weights[known], first.errors)
    found = solve(first.covariance_of_rewards(model), noise.variances, first.rewards)
    for rest in torch.where(others)[0].split(MOST_TOGETHER):
        part = data.at(rest)
        here = evidence_of(part)
        across, prior = first.beside(model, here.points, part.conditions)
        noise = Noise(model.noise, weights[rest], here.errors, dof)
        completed[rest] = weights_beside(found, across, prior, noise, here.rewards)
    if number <= MOST_TOGETHER:
        together = replace(mode, evidence=evidence_of(data), weights=completed)
        completed, _ = weights_together(together)
    return completed


def with_weights(mode: PosteriorMode) -> PosteriorMode:
    """A mode with the weights that all rewards have under it, and its variational bound."""
    return with_bound(replace(mode, weights=weights_together(mode)[0]))


def weights_together(mode: PosteriorMode) -> tuple[Tensor, float]:
    """The weights (n,) that all rewards have together under a model that stays, and its level."""
    evidence, model, weights, level = mode.evidence, mode.model, mode.weights, 0.0
    signal = evidence.covariance_of_rewards(model)
    for _ in range(E_STEPS):
        before = weights
        level, relative = evidence.expected(signal, model.noise, before)
        weights = precision(relative, mode.dof)
        if bool(((weights - before).abs() <= _SETTLED).all()):
            break
    return weights, level

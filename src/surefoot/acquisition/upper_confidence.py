"""Optimism: the upper confidence bound."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot.acquisition.policy import Score, Situation
from surefoot.regression.posterior import Posterior


@dataclass(frozen=True)
class UpperConfidenceBound:
    """mu(x) + beta sigma(x) (Srinivas et al. 2010, Algorithm 1).

    Where measurements have failed, a failure counts as the lowest lower bound of any site.
    """

    def __call__(self, situation: Situation) -> Score:
        posterior, width, feasible = situation.posterior, situation.width, situation.feasible
        if feasible is None:
            return lambda points: _bound(posterior, width, points)
        worst = _bound(posterior, -width, situation.sites).min()

        def score(points: Tensor) -> Tensor:
            chance = feasible(points)
            return chance * _bound(posterior, width, points) + (1.0 - chance) * worst

        return score


def _bound(posterior: Posterior, width: float, points: Tensor) -> Tensor:
    mean, deviation = posterior.mean_and_deviation(points)
    return torch.add(mean, deviation, alpha=width)

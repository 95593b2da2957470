"""What a recommendation is made by."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from surefoot.acquisition.policy import Policy, Score, Situation
from surefoot.acquisition.search import By
from surefoot.acquisition.upper_confidence import UpperConfidenceBound


def value_of(by: By) -> Policy:
    """The posterior mean, or the lower bound; less of both where measurements fail."""

    def value(situation: Situation) -> Score:
        width = -situation.width if by == "lower" else 0.0
        return UpperConfidenceBound()(replace(situation, width=width))

    return value


def interval(situation: Situation, point: Tensor) -> tuple[float, float, float]:
    """Mean, lower and upper bound of the function at a point."""
    with torch.no_grad():
        mean, deviation = situation.posterior.mean_and_deviation(point.unsqueeze(0))
    reach = situation.width * float(deviation)
    return float(mean), float(mean) - reach, float(mean) + reach

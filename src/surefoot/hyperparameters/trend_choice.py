"""Choice of the prior mean among multiples of an earlier function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from surefoot._internal.numbers import LAST_DIGITS
from surefoot.hyperparameters.earlier import NO_TREND, NoTrend, Trend
from surefoot.hyperparameters.model_choice import STRONG_EVIDENCE
from surefoot.hyperparameters.training_data import TrainingData


class Validated(NamedTuple):
    """A fit that is compared with others.

    Args:
        errors: Errors (t,) of leave-one-out predictions, in reward units.
        weights: Weights (t,) of the rewards.
        log_evidence: Log evidence, in reward units.
    """

    errors: Tensor
    weights: Tensor
    log_evidence: float


def supported(
    earlier: Trend, data: TrainingData, validated: Callable[[TrainingData], Validated]
) -> Trend | NoTrend:
    """The multiple of an earlier function with which rewards are predicted clearly better.

    That is, each of them from the others, and all of them by evidence that is strong. Errors alone
    favour some multiple by chance where the rewards are few; evidence alone, where the functions
    are hardly related.

    Args:
        earlier: The earlier posterior mean.
        data: The observations.
        validated: Fits to observations without a trend.
    """
    with torch.no_grad():
        means = earlier(data.points).cpu()
    slopes = {1.0, _slope(means, data.rewards)} - {0.0}
    multiples = [replace(earlier, slope=slope) for slope in sorted(slopes)]
    trends: list[Trend | NoTrend] = [NO_TREND, *multiples]
    found = [validated(without(trend, data)) for trend in trends]
    known = torch.stack([one.weights for one in found]).amin(0)
    squares = [float((known * one.errors.square()).sum()) for one in found]
    best = int(np.argmin(squares))
    gain = found[best].log_evidence - found[0].log_evidence
    return trends[best] if gain > STRONG_EVIDENCE else NO_TREND


def without(trend: Trend | NoTrend, data: TrainingData) -> TrainingData:
    """Observations whose rewards are less a trend."""
    if trend.is_none:
        return data
    with torch.no_grad():
        return replace(data, rewards=data.rewards - trend(data.points).cpu())


def _slope(means: Tensor, rewards: Tensor) -> float:
    """Median slope of rewards (t,) over means (t,), at least 0 (Theil 1950, Sen 1968)."""
    first, second = torch.triu_indices(len(means), len(means), 1)
    run, rise = means[second] - means[first], rewards[second] - rewards[first]
    varies = run.abs() > LAST_DIGITS * means.abs().max()
    if not bool(varies.any()):
        return 0.0
    return max(float((rise[varies] / run[varies]).median()), 0.0)

"""Choice of the prior mean among multiples of an earlier function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

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
    are hardly related. A multiple that is fitted must be as much better than the function itself.

    Args:
        earlier: The earlier posterior mean.
        data: The observations.
        validated: Fits to observations without a trend.
    """
    with torch.no_grad():
        means = earlier(data.points).cpu()
    slopes = [1.0, slope] if (slope := _slope(means, data.rewards)) else [1.0]
    trends: list[Trend | NoTrend] = [NO_TREND, *(replace(earlier, slope=one) for one in slopes)]
    found = [validated(without(trend, data)) for trend in trends]
    known = torch.stack([one.weights for one in found]).amin(0)
    squares = [float((known * one.errors.square()).sum()) for one in found]
    best = 0
    for index, one in enumerate(found):
        gain = one.log_evidence - found[best].log_evidence
        if squares[index] < squares[best] and gain > STRONG_EVIDENCE:
            best = index
    return trends[best]


def without(trend: Trend | NoTrend, data: TrainingData) -> TrainingData:
    """Observations whose rewards are less a trend."""
    if trend.is_none:
        return data
    with torch.no_grad():
        return replace(data, rewards=data.rewards - trend(data.points).cpu())


def _slope(means: Tensor, rewards: Tensor) -> float:
    """Mean of the middle half of the slopes of rewards (t,) over means (t,), at least 0.

    By the median slope alone (Theil 1950, Sen 1968) two rewards would differ from the trend by
    exactly the same, which few rewards take for a function without noise.
    """
    first, second = torch.triu_indices(len(means), len(means), 1)
    run, rise = means[second] - means[first], rewards[second] - rewards[first]
    varies = run.abs() > LAST_DIGITS * means.abs().max()
    slopes = (rise[varies] / run[varies]).sort().values
    beyond = len(slopes) // 4
    return max(float(slopes[beyond : len(slopes) - beyond].mean()), 0.0) if len(slopes) else 0.0

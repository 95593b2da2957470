"""Levels that values agree on, found by the gaps between them."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor

from surefoot._internal.numbers import LAST_DIGITS
from surefoot.regression.regression import OUTLIER_WEIGHT
from surefoot.regression.transforms import ONE_LEVEL, Levels

_DISTANCE = 4.0  # of neighboring levels once transformed, in standard deviations of a level
_EXACT = 16.0  # of neighboring levels, in errors of values that have no spread
_APART = 8.0  # deviations of the widest level, beyond which gaps are no chance of few values
_MOST_GAPS = 8
_LEAST_SHARED = 2  # values that a level has
_LEAST_SHARE = 0.8  # of the values that are on levels, where there are any
_LEAST_AGREEING = 0.9  # of the values where a coordinate is the same


def levels_of(values: Tensor) -> Levels:
    """Transformation that brings levels near, the identity where values are on one.

    Values are cut at their largest gaps, at as many as leave gaps larger than `_DISTANCE` standard
    deviations of the values between them, and than `_APART` of those of any level: few values of a
    smooth function have gaps, too. A part with one value is no level: it agrees with none.

    Args:
        values: Values (n,).
    """
    ordered = values.sort().values
    gaps = ordered.diff()
    widest = gaps.argsort(descending=True)[:_MOST_GAPS]
    least = LAST_DIGITS * float(ordered.abs().max())
    found = ONE_LEVEL
    for number in range(1, len(widest) + 1):
        cuts = widest[:number].sort().values
        narrowest = float(gaps[cuts].min())
        if not narrowest > least:
            break
        parts = ordered.tensor_split((cuts + 1).tolist())
        spread = _pooled_deviation(parts)
        levels = [part for part in parts if len(part) >= _LEAST_SHARED]
        shared = sum(map(len, levels)) >= _LEAST_SHARE * len(values)
        widest_level = max((float(part.std()) for part in levels), default=0.0)
        agree = narrowest > max(_DISTANCE * spread, _APART * widest_level)
        if len(levels) < 2 or not (shared and agree):
            continue
        between = tuple((float(lower[-1]), float(upper[0])) for lower, upper in pairwise(levels))
        if spread > least:
            found = Levels(between, _DISTANCE * spread)
        else:
            length = min(high - low for low, high in between)
            found = Levels(between, length, length / _EXACT)
    return found


def are_kept(levels: Levels, values: Tensor, weights: Tensor) -> bool:
    """Whether a fit takes no level for outliers, by the median weight of its values.

    Outliers may agree with each other, too: spikes of one size, at random points.

    Args:
        levels: The levels.
        values: Values (n,).
        weights: Weights (n,) of the fit.
    """
    level = levels.index(values)
    return min([float(weights[level == one].median()) for one in level.unique()]) >= OUTLIER_WEIGHT


def are_predicted(levels: Levels, values: Tensor, predicted: Tensor) -> bool:
    """Whether half of the values on each level are predicted there without them.

    As a function does that jumps between regions; outliers of one size are alone among values of
    another level, whatever their weights are.

    Args:
        levels: The levels.
        values: Values (n,).
        predicted: Leave-one-out predictions (n,) of them.
    """
    level = levels.index(values)
    right = (levels.index(predicted) == level).double()
    return all(float(right[level == one].mean()) >= 0.5 for one in level.unique())


def follow(levels: Tensor, coordinate: Tensor, points: Tensor) -> bool:
    """Whether the level of a value is known from one coordinate, which has few values.

    Args:
        levels: Level (n,) of each value.
        coordinate: The coordinate (n,).
        points: The points (n, d).
    """
    agreeing, of, seen = 0, 0, set()
    for value in coordinate.unique():
        here = coordinate == value
        if len(points[here].unique(dim=0)) < _LEAST_SHARED:
            continue  # which says nothing of the other coordinates
        counts = levels[here].bincount()
        agreeing, of = agreeing + int(counts.max()), of + int(here.sum())
        seen.add(int(counts.argmax()))
    return len(seen) > 1 and of >= _LEAST_SHARE * len(levels) and agreeing >= _LEAST_AGREEING * of


def apart_from(limit: float, values: Tensor) -> Levels:
    """Transformation that keeps values equal to a limit apart from those below it.

    Where values are clipped at their limit, as `max(0, violation)` is, the distance to those below
    says nothing of how far the limit is from being violated: it becomes the median violation.

    Args:
        limit: The limit, infinite for none.
        values: Values (n,).
    """
    below = limit - values[values < limit]
    clipped = bool((values == limit).any()) and not bool((values > limit).any())
    if not (clipped and len(below)):
        return ONE_LEVEL
    return Levels(((limit - float(below.min()), limit),), float(below.median()))


def _pooled_deviation(parts: tuple[Tensor, ...]) -> float:
    """Standard deviation of values about the mean of their part."""
    squares = sum(float((part - part.mean()).square().sum()) for part in parts)
    return (squares / max(sum(len(part) - 1 for part in parts), 1)) ** 0.5

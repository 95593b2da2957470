"""The model along each parameter, as numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from surefoot.tune.report.data import Interval, Parameter, Slice

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyBelief

POINTS = 48  # of a slice along a number


def parameter(name: str, distribution: BaseDistribution) -> Parameter:
    """What a report needs to know of a parameter."""
    if isinstance(distribution, CategoricalDistribution):
        return Parameter(name, choices=tuple(distribution.choices))
    return Parameter(name, log=bool(getattr(distribution, "log", False)))


def cuts(
    belief: StudyBelief,
    recommended: dict[str, Any],
    space: dict[str, BaseDistribution],
) -> tuple[Slice, ...]:
    """One slice for each parameter, the others at `recommended`; one prediction for all."""
    settings = {name: _settings(space[name], recommended[name]) for name in space}
    asked = [recommended | {name: value} for name in space for value in settings[name]]
    predicted = intervals(*belief.predict(asked))
    slices, start = [], 0
    for name, distribution in space.items():
        stop = start + len(settings[name])
        slices.append(
            Slice(
                parameter(name, distribution),
                settings[name],
                predicted[start:stop],
                recommended[name],
            )
        )
        start = stop
    return tuple(slices)


def intervals(
    mean: Iterable[float], lower: Iterable[float], upper: Iterable[float]
) -> tuple[Interval, ...]:
    """Three arrays as intervals."""
    return tuple(
        Interval(float(middle), float(low), float(high))
        for middle, low, high in zip(mean, lower, upper, strict=True)
    )


def _settings(distribution: BaseDistribution, recommended: Any) -> tuple[Any, ...]:
    if isinstance(distribution, CategoricalDistribution):
        return tuple(distribution.choices)
    if not isinstance(distribution, FloatDistribution | IntDistribution):
        return (recommended,)
    low, high = distribution.low, distribution.high
    spread = np.geomspace if distribution.log else np.linspace
    grid = [min(max(float(value), low), high) for value in spread(low, high, POINTS)]
    if distribution.step is not None:
        grid = [
            low + round((value - low) / distribution.step) * distribution.step for value in grid
        ]
    whole = isinstance(distribution, IntDistribution)
    return tuple(sorted({int(value) if whole else value for value in [*grid, recommended]}))

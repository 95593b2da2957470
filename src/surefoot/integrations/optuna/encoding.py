"""Encoding of Optuna parameters as coordinates of a box, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from torch import Tensor

from surefoot.spaces import Box

_MAX_LEVELS = 64  # a finer grid is treated as continuous, then rounded


@dataclass(frozen=True, eq=False)
class Encoding:
    """Search space of an Optuna study as a `Box` on the unit cube.

    A number is encoded by one coordinate, on a log scale if the distribution has one; a category
    is encoded one-hot. Distributions with a single value are left out.

    Args:
        distributions: Distributions of the parameters, by name.
        columns: Coordinates of each parameter, by name.
        box: The encoded space, [0, 1]^d with levels and one-hot choices.
    """

    distributions: Mapping[str, BaseDistribution]
    columns: Mapping[str, tuple[int, ...]]
    box: Box

    @classmethod
    def of(cls, space: Mapping[str, BaseDistribution]) -> Encoding | None:
        """Encoding of a search space, None if no parameter varies."""
        varying = {name: d for name, d in space.items() if not d.single()}
        if not varying:
            return None
        columns: dict[str, tuple[int, ...]] = {}
        levels: dict[int, Tensor] = {}
        choices: list[tuple[int, ...]] = []
        width = 0
        for name, distribution in varying.items():
            if isinstance(distribution, CategoricalDistribution):
                columns[name] = tuple(range(width, width + len(distribution.choices)))
                choices.append(columns[name])
            else:
                columns[name] = (width,)
                values = _grid(distribution)
                if values is not None and len(values) <= _MAX_LEVELS:
                    unit = [_to_unit(distribution, value) for value in values]
                    levels[width] = torch.tensor(unit, dtype=torch.float64)
            width += len(columns[name])
        box = Box(torch.zeros(width), torch.ones(width), levels=levels, choices=choices)
        return cls(varying, columns, box)

    def encode(self, params: Mapping[str, Any]) -> Tensor | None:
        """Point (d,) of a configuration, None if it is not in this space."""
        point = torch.zeros(self.box.dimension, dtype=torch.float64)
        for name, distribution in self.distributions.items():
            if name not in params:
                return None
            try:
                internal = distribution.to_internal_repr(params[name])
            except ValueError:
                return None
            columns = self.columns[name]
            if isinstance(distribution, CategoricalDistribution):
                point[columns[int(internal)]] = 1.0
            elif not distribution.low <= internal <= distribution.high:
                return None
            else:
                point[columns[0]] = _to_unit(distribution, internal)
        return point

    def decode(self, point: Tensor) -> dict[str, Any]:
        """Configuration nearest to a point (d,)."""
        params: dict[str, Any] = {}
        for name, distribution in self.distributions.items():
            columns = list(self.columns[name])
            if isinstance(distribution, CategoricalDistribution):
                params[name] = distribution.choices[int(point[columns].argmax())]
            elif isinstance(distribution, IntDistribution):
                params[name] = int(_from_unit(distribution, float(point[columns[0]])))
            else:
                params[name] = float(_from_unit(distribution, float(point[columns[0]])))
        return params

    def rounded(self, point: Tensor) -> Tensor:
        """The point (d,) of the configuration nearest to a point (d,)."""
        nearest = self.encode(self.decode(point))
        return point if nearest is None else nearest


def _grid(distribution: BaseDistribution) -> Sequence[float] | None:
    """All values of a number with a step, None if there are too many."""
    step = getattr(distribution, "step", None)
    if step is None:
        return None
    low, high = distribution.low, distribution.high
    number = round((high - low) / step) + 1
    return [low + i * step for i in range(number)] if number <= _MAX_LEVELS else None


def _to_unit(distribution: FloatDistribution | IntDistribution, value: float) -> float:
    low, high = float(distribution.low), float(distribution.high)
    if distribution.log:
        low, high, value = math.log(low), math.log(high), math.log(value)
    return (value - low) / (high - low)


def _from_unit(distribution: FloatDistribution | IntDistribution, unit: float) -> float:
    low, high = distribution.low, distribution.high
    if unit <= 0.0 or unit >= 1.0:
        value = low if unit <= 0.0 else high  # exactly, without the rounding of the logarithm
    elif distribution.log:
        value = math.exp(math.log(low) + unit * (math.log(high) - math.log(low)))
    else:
        value = low + unit * (high - low)
    if distribution.step is not None:
        value = low + round((value - low) / distribution.step) * distribution.step
        if isinstance(distribution, FloatDistribution):
            value = float(f"{value:.15g}")  # 0.6 rather than 0.6000000000000001
    return min(max(value, low), high)

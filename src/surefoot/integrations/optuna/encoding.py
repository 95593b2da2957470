"""Encoding of Optuna parameters as coordinates of a box, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from surefoot.integrations.optuna.conditions import Comparison
from surefoot.integrations.optuna.encoded_parameters import (
    EncodedCategory,
    EncodedNumber,
    EncodedOptional,
    EncodedParameter,
    encoded_parameter,
)
from surefoot.integrations.optuna.search_space import SearchSpace
from surefoot.spaces import Box


@dataclass(frozen=True, eq=False)
class Encoding:
    """Search space of an Optuna study as a `Box` on the unit cube.

    A number is encoded by one coordinate, on a log scale if the distribution has one, and so are
    ordered choices; other categories are one-hot; a number or an ordered choice that may be
    inactive, or has special values, is an `Arc`. The coordinates of inactive parameters are 0.
    Distributions with a single value are left out.

    Args:
        space: The search space.
        parameters: Encoded parameters by name, each after those that decide whether it is active.
        box: The encoded space, [0, 1]^d.
    """

    space: SearchSpace
    parameters: Mapping[str, EncodedParameter]
    box: Box

    @classmethod
    def of(cls, space: Mapping[str, BaseDistribution] | SearchSpace) -> Encoding | None:
        """Encoding of a search space, None if no parameter varies."""
        space = SearchSpace.of(space).varying
        if not space.scales:
            return None
        parameters: dict[str, EncodedParameter] = {}
        width = 0
        for name in space.scales:
            parameters[name] = encoded_parameter(
                space.scale(name),
                width,
                space.special.get(name, ()),
                optional=name in space.when,
                ordered=name in space.ordered,
            )
            width += len(parameters[name].columns)
        parameters = {name: parameters[name] for name in space.order}
        every = parameters.values()
        numbers = [one for one in every if isinstance(one, EncodedNumber)]
        box = Box(
            torch.zeros(width),
            torch.ones(width),
            levels={one.first: one.levels for one in numbers if len(one.levels)},
            choices=[one.columns for one in every if isinstance(one, EncodedCategory)],
            arcs=[one.arc for one in every if isinstance(one, EncodedOptional)],
            active=_Activity.of(space, parameters),
        )
        return cls(space, parameters, box)

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Distributions of the parameters as Optuna stores them, by name."""
        return self.space.distributions

    def encode(self, params: Mapping[str, Any]) -> Tensor | None:
        """Point (d,) of a configuration, None if it is not in this space.

        Values of inactive parameters are ignored.
        """
        point = torch.zeros(self.box.dimension, dtype=torch.float64)
        active: dict[str, Any] = {}
        for name, parameter in self.parameters.items():
            if not self.space.is_active(name, active):
                continue
            encoded = parameter.encode(params[name]) if name in params else None
            if encoded is None:
                return None
            point[parameter.columns] = encoded
            active[name] = params[name]
        return point

    def decode(self, point: Tensor) -> dict[str, Any]:
        """Configuration nearest to a point (d,), of the parameters that are active in it."""
        params: dict[str, Any] = {}
        for name, parameter in self.parameters.items():
            if self.space.is_active(name, params):
                params[name] = parameter.decode(point[parameter.columns])
        return {name: params[name] for name in self.space.scales if name in params}

    def rounded(self, point: Tensor) -> Tensor:
        """The point (d,) of the configuration nearest to a point (d,)."""
        nearest = self.encode(self.decode(point))
        return point if nearest is None else nearest


@dataclass(frozen=True, eq=False)
class _Activity:
    """Sets the coordinates of inactive parameters to 0, parents before their children."""

    tests: tuple[tuple[list[int], tuple[tuple[EncodedParameter, Comparison], ...]], ...]

    @classmethod
    def of(cls, space: SearchSpace, parameters: Mapping[str, EncodedParameter]) -> _Activity:
        return cls(
            tuple(
                (
                    parameters[name].columns,
                    tuple(
                        (parameters[one.name], one) for one in space.conditions[name].comparisons
                    ),
                )
                for name in space.order
                if name in space.conditions
            )
        )

    def __call__(self, points: Tensor) -> Tensor:  # (n, d) -> (n, d)
        points = points.clone() if self.tests else points
        for columns, comparisons in self.tests:
            for parent, comparison in comparisons:
                holds = parent.holds(points[:, parent.columns], comparison)
                points[:, columns] = points[:, columns] * holds[:, None]
        return points

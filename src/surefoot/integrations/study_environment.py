"""A random environment with names, as the trials of a study record it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from surefoot.spaces import ContinuousEnvironment, Environment, FiniteEnvironment
from surefoot.types import InvalidInput

ENVIRONMENT = "surefoot:environment"
"""User attribute of a trial: the environment that it is measured under, as a value by name."""


@dataclass(frozen=True, eq=False)
class StudyEnvironment:
    """An environment whose coordinates have names: `StudyEnvironment(["load"], environment)`.

    With `observed`, the world draws it and each trial reports it; otherwise the sampler chooses
    it. Variables in `whole` are handed out as integers. Those in `rounded` take the nearest of the
    values that a finite environment has, which then stand for a continuous variable.
    """

    names: Sequence[str]
    distribution: Environment
    observed: bool = False
    whole: Sequence[str] = ()
    rounded: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.distribution, FiniteEnvironment | ContinuousEnvironment):
            raise InvalidInput(
                f"`distribution` is {self.distribution!r}, expected `FiniteEnvironment(points, "
                "weights)` or `ContinuousEnvironment(distribution)`."
            )
        alone = isinstance(self.names, str)
        names = [self.names] if alone else list(self.names)
        if not all(isinstance(name, str) and name for name in names) or len({*names}) < len(names):
            raise InvalidInput(f"`names` is {self.names!r}, expected different names.")
        if len(names) != self.distribution.dimension:
            raise InvalidInput(
                f"{len(names)} `names` came with an environment of "
                f"{self.distribution.dimension} coordinates, expected one for each."
            )
        object.__setattr__(self, "names", tuple(names))

    def encode(self, values: object) -> Tensor:
        """The point (dz,) of values by name; `InvalidInput` unless it is a value of Z."""
        if not isinstance(values, Mapping) or {*values} != {*self.names}:
            shown = ", ".join(f"{name!r}: number" for name in self.names)
            raise InvalidInput(f"the environment is {values!r}, expected {{{shown}}}.")
        for name in self.names:
            value = values[name]
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InvalidInput(f"the environment's {name} is {value!r}, expected a number.")
            if not math.isfinite(value):
                raise InvalidInput(f"the environment's {name} is {value}, expected a number.")
        given = torch.tensor([float(values[name]) for name in self.names], dtype=torch.float64)
        known = self.distribution
        if isinstance(known, FiniteEnvironment):
            for column, name in enumerate(self.names):
                if name in self.rounded:
                    listed = known.points[:, column]
                    given[column] = listed[(listed - given[column]).abs().argmin()]
            index = known.index(given)
            if index is None:
                raise InvalidInput(
                    f"the environment {dict(values)!r} is none of the {len(known)} that there are."
                )
            return known.points[index]
        room, (low, high) = 1e-9 * (known.upper - known.lower), known.ends
        outside = (given < low - room) | (given > high + room)
        if bool(outside.any()):
            worst = int(outside.nonzero()[0])
            raise InvalidInput(
                f"the environment's {self.names[worst]} is {float(given[worst])}, expected a "
                f"number from {float(low[worst])} to {float(high[worst])}."
            )
        return given.clamp(low, high)

    def decode(self, point: Tensor) -> dict[str, Any]:
        """The values by name of a point (dz,)."""
        values: dict[str, Any] = {}
        for name, value in zip(self.names, point.tolist(), strict=True):
            values[name] = round(value) if name in self.whole else value
        return values

    def draw(self, seed: int) -> Tensor:
        """A random value (dz,) of Z."""
        return self.distribution.sample(1, torch.Generator().manual_seed(seed))[0]

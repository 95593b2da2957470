"""Random environment with named variables, as the trials of a study record it."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from optuna.trial import FrozenTrial
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.numbers import ROUNDING
from surefoot.spaces import ContinuousEnvironment, Environment, Fidelity, FiniteEnvironment
from surefoot.types import InvalidInput

_LARGEST = sys.float_info.max


@dataclass(frozen=True, eq=False)
class StudyEnvironment:
    """Random environment of an Optuna study, with a name for each variable.

    Args:
        names: Names of the dz variables; one may be passed as a string.
        distribution: `FiniteEnvironment` or `ContinuousEnvironment` of dz coordinates.
        observed: Whether each trial reports its environment; otherwise the sampler chooses it.
        integer: Names of the variables whose values are integers.
        rounded: Names of the variables of which a reported value is rounded to the nearest value
            of a `FiniteEnvironment`, which discretises a continuous variable then.
        unrecorded: Values by name of a trial that records none; by default each must record its
            own.

    Raises:
        InvalidInput: If `distribution` is not an environment, or names do not match it.

    Example:
        >>> import surefoot as sf
        >>> environment = StudyEnvironment("load", sf.FiniteEnvironment([0.2, 0.8]))
        >>> environment.encode({"load": 0.8}).tolist()
        [0.8]
    """

    names: Sequence[str]
    distribution: Environment
    observed: bool = False
    integer: Sequence[str] = ()
    rounded: Sequence[str] = ()
    unrecorded: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of_fidelity(cls, fidelity: Fidelity) -> StudyEnvironment:
        """The levels of a fidelity; a trial that records none is at the highest."""
        name = fidelity.name
        whole = [name] if all(float(level).is_integer() for level in fidelity.levels) else []
        highest = {name: fidelity.levels[-1]}
        return cls(name, fidelity.environment, integer=whole, unrecorded=highest)

    def __post_init__(self) -> None:
        if not isinstance(self.distribution, FiniteEnvironment | ContinuousEnvironment):
            raise InvalidInput(
                f"`distribution` is {self.distribution!r}, expected `FiniteEnvironment(points, "
                "weights)` or `ContinuousEnvironment(distribution)`."
            )
        checks.truth("observed", self.observed)
        if self.distribution.weights_vary:
            raise InvalidInput(
                "the weights of `distribution` depend on the design, expected numbers in a study: "
                "use `Optimizer` with a `Joint` space."
            )
        names = [self.names] if isinstance(self.names, str) else list(self.names)
        if not all(isinstance(name, str) and name for name in names) or len({*names}) < len(names):
            raise InvalidInput(f"`names` is {self.names!r}, expected different names.")
        if len(names) != self.distribution.dimension:
            raise InvalidInput(
                f"{len(names)} `names` came with an environment of "
                f"{self.distribution.dimension} coordinates, expected one for each."
            )
        object.__setattr__(self, "names", tuple(names))
        for argument in ("integer", "rounded"):
            checks.names(argument, getattr(self, argument), *names)

    def encode(self, values: object) -> Tensor:
        """Convert named values to a point.

        Args:
            values: Numbers by variable name.

        Returns:
            Point (dz,) of the environment.

        Raises:
            InvalidInput: If a name is missing or unknown, or the values are not in the support.
        """
        if not isinstance(values, Mapping) or {*values} != {*self.names}:
            shown = ", ".join(f"{name!r}: number" for name in self.names)
            raise InvalidInput(f"the environment is {values!r}, expected {{{shown}}}.")
        for name in self.names:
            value = values[name]
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InvalidInput(f"the environment's {name} is {value!r}, expected a number.")
            if not -_LARGEST <= value <= _LARGEST:  # nor is NaN, or an integer beyond any float
                number = "too large" if isinstance(value, int) else value
                raise InvalidInput(f"the environment's {name} is {number}, expected a number.")
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
                    f"the environment {dict(values)!r} is not one of its {len(known)} values."
                )
            return known.points[index]
        tolerance, (low, high) = ROUNDING * (known.upper - known.lower), known.ends
        outside = (given < low - tolerance) | (given > high + tolerance)
        if bool(outside.any()):
            worst = int(outside.nonzero()[0])
            raise InvalidInput(
                f"the environment's {self.names[worst]} is {float(given[worst])}, expected a "
                f"number from {float(low[worst])} to {float(high[worst])}."
            )
        return given.clamp(low, high)

    def reached(self, trial: FrozenTrial, above: float) -> tuple[Tensor, float] | None:
        """The highest level (1,) of fidelity that a pruned trial has reported, and its value there.

        Reports of one trial have their luck in common: together they are one measurement.

        Args:
            trial: A trial, whose steps may be levels.
            above: What a value has to be larger than.
        """
        reports = trial.intermediate_values if self.unrecorded else {}
        for step in sorted(reports, reverse=True):
            z = torch.tensor([float(step)], dtype=torch.float64)
            if self.distribution.index(z) is not None and above < reports[step] < math.inf:
                return z, reports[step]
        return None

    def decode(self, point: Tensor) -> dict[str, Any]:
        """Convert a point to named values.

        Args:
            point: Point (dz,) of the environment.

        Returns:
            Numbers by variable name.
        """
        return {
            name: round(value) if name in self.integer else value
            for name, value in zip(self.names, point.tolist(), strict=True)
        }

    def draw(self, seed: int) -> Tensor:
        """Draw a random environment.

        Args:
            seed: Seed of the draw.

        Returns:
            Point (dz,) of the environment.
        """
        return self.distribution.sample(1, torch.Generator().manual_seed(seed))[0]

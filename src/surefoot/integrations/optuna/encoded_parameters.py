"""Parameters of an Optuna study as coordinates of a box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import torch
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from torch import Tensor

from surefoot.integrations.optuna.conditions import Comparison
from surefoot.spaces import Arc
from surefoot.types import InvalidInput

_MAX_LEVELS = 64  # a finer grid is treated as continuous, then rounded
_DIGITS = 12  # of an optional number
_POSITIONS = 129  # of an optional number that a search tries

Number: TypeAlias = FloatDistribution | IntDistribution


class EncodedParameter(Protocol):
    """A parameter and its coordinates."""

    @property
    def columns(self) -> list[int]:
        """Its coordinates."""

    def encode(self, value: Any) -> Tensor | None:
        """The coordinates (columns,) of a value, None if the parameter cannot have it."""

    def decode(self, encoded: Tensor) -> Any:
        """The value nearest to coordinates (columns,)."""

    def holds(self, encoded: Tensor, comparison: Comparison) -> Tensor:
        """Whether a comparison holds (n,) for coordinates (n, columns), where it is active."""


@dataclass(frozen=True)
class EncodedCategory:
    """A category, one-hot."""

    distribution: CategoricalDistribution
    first: int

    @property
    def columns(self) -> list[int]:
        return list(range(self.first, self.first + len(self.distribution.choices)))

    def encode(self, value: Any) -> Tensor | None:
        try:
            index = int(self.distribution.to_internal_repr(value))
        except ValueError:
            return None
        return torch.eye(len(self.columns), dtype=torch.float64)[index]

    def decode(self, encoded: Tensor) -> Any:
        return self.distribution.choices[int(encoded.argmax())]

    def holds(self, encoded: Tensor, comparison: Comparison) -> Tensor:
        holds = [float(comparison.holds(choice)) for choice in self.distribution.choices]
        return encoded @ encoded.new_tensor(holds) > 0.5


@dataclass(frozen=True)
class EncodedNumber:
    """A number, on a log scale if its distribution has one."""

    distribution: Number
    first: int

    @property
    def columns(self) -> list[int]:
        return [self.first]

    @property
    def levels(self) -> Tensor:
        """All positions (m,) in [0, 1], none if the number is continuous or has too many."""
        return levels_of(self.distribution)

    def encode(self, value: Any) -> Tensor | None:
        unit = _unit_of(self.distribution, value)
        return None if unit is None else torch.tensor([unit], dtype=torch.float64)

    def decode(self, encoded: Tensor) -> Any:
        return _value_at(self.distribution, float(encoded[0]))

    def holds(self, encoded: Tensor, comparison: Comparison) -> Tensor:
        return comparison.holds(_values_at(self.distribution, encoded[:, 0]))


@dataclass(frozen=True, eq=False)
class EncodedOptionalNumber:
    """A number that may be absent or have special values."""

    distribution: Number
    special: tuple[float, ...]
    arc: Arc

    @classmethod
    def of(
        cls, distribution: Number, special: Sequence[float], first: int
    ) -> EncodedOptionalNumber:
        """Its coordinates begin with `first`."""
        positions = levels_of(distribution)
        isolated = len(positions) > 0
        if isolated and special:
            values = [_value_at(distribution, float(unit)) for unit in positions]
            positions = positions[[value not in special for value in values]]
        if not isolated:
            positions = torch.linspace(0.0, 1.0, _POSITIONS, dtype=torch.float64)
        kinds = tuple(range(first + 2, first + 3 + len(special))) if special else ()
        return cls(distribution, tuple(special), Arc(first, first + 1, positions, isolated, kinds))

    @property
    def columns(self) -> list[int]:
        return list(self.arc.columns)

    def encode(self, value: Any) -> Tensor | None:
        if value in self.special:
            return self.arc.at_special(torch.tensor([self.special.index(value)]))[0]
        unit = _unit_of(self.distribution, value)
        return None if unit is None else self.arc.at(torch.tensor([unit], dtype=torch.float64))[0]

    def decode(self, encoded: Tensor) -> Any:
        special = int(self.arc.special(encoded[None])[0])
        if special >= 0:
            value = self.special[special]
            return int(value) if isinstance(self.distribution, IntDistribution) else float(value)
        value = _value_at(self.distribution, float(self.arc.number(encoded[None])[0]))
        if isinstance(value, float):  # without the rounding errors of an angle
            value = float(f"{value:.{_DIGITS}g}")
            value = min(max(value, self.distribution.low), self.distribution.high)
        step = self.distribution.step or 0.0
        while value in self.special and step and value < self.distribution.high:
            value += step
        return value

    def holds(self, encoded: Tensor, comparison: Comparison) -> Tensor:
        values = _values_at(self.distribution, self.arc.number(encoded))
        if self.special:
            special = self.arc.special(encoded)
            table = values.new_tensor(self.special)
            values = torch.where(special >= 0, table[special.clamp_min(0)], values)
        return (encoded != 0.0).any(-1) & comparison.holds(values)


def levels_of(distribution: Number) -> Tensor:
    """Positions (m,) in [0, 1] of all values of a number with a step, none if too many."""
    low, step = distribution.low, distribution.step
    number = 0 if step is None else round((distribution.high - low) / step) + 1
    if not 0 < number <= _MAX_LEVELS:
        return torch.zeros(0, dtype=torch.float64)
    unit = [_to_unit(distribution, low + i * (step or 0)) for i in range(number)]
    return torch.tensor(unit, dtype=torch.float64)


def _unit_of(distribution: Number, value: Any) -> float | None:
    try:
        internal = distribution.to_internal_repr(value)
    except ValueError:
        return None
    if not distribution.low <= internal <= distribution.high:
        return None
    return _to_unit(distribution, internal)


def _to_unit(distribution: Number, value: float) -> float:
    low, high = float(distribution.low), float(distribution.high)
    if distribution.log:
        low, high, value = math.log(low), math.log(high), math.log(value)
    return (value - low) / (high - low)


def _value_at(distribution: Number, unit: float) -> Any:
    low, high = distribution.low, distribution.high
    if unit <= 0.0 or unit >= 1.0:
        value = low if unit <= 0.0 else high  # exactly, without the rounding of the logarithm
    elif distribution.log:
        value = math.exp(math.log(low) + unit * (math.log(high) - math.log(low)))
    else:
        value = low + unit * (high - low)
    whole = isinstance(distribution, IntDistribution)
    if distribution.step is not None:
        value = low + round((value - low) / distribution.step) * distribution.step
        if not whole:
            value = float(f"{value:.15g}")  # 0.6 rather than 0.6000000000000001
    value = min(max(value, low), high)
    return int(value) if whole else float(value)


def _values_at(distribution: Number, unit: Tensor) -> Tensor:
    """The same for positions (n,), as numbers."""
    low, high = float(distribution.low), float(distribution.high)
    if distribution.log:
        values = (math.log(low) + unit * (math.log(high) - math.log(low))).exp()
    else:
        values = low + unit * (high - low)
    values = torch.where(unit <= 0.0, low, torch.where(unit >= 1.0, high, values))
    if distribution.step is not None:
        values = low + ((values - low) / distribution.step).round() * distribution.step
    return values.clamp(low, high)


def encoded_parameter(
    distribution: BaseDistribution, first: int, special: Sequence[float], optional: bool
) -> EncodedParameter:
    """The encoding that suits a parameter.

    Args:
        distribution: Its distribution, without special values.
        first: Its first coordinate.
        special: Its special values.
        optional: Whether it may be absent.

    Raises:
        InvalidInput: If the distribution is none of Optuna's.
    """
    if isinstance(distribution, CategoricalDistribution):
        return EncodedCategory(distribution, first)
    if not isinstance(distribution, FloatDistribution | IntDistribution):
        raise InvalidInput(
            f"{distribution!r} came, expected a float, an integer or a categorical distribution."
        )
    if special or optional:
        return EncodedOptionalNumber.of(distribution, special, first)
    return EncodedNumber(distribution, first)

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
from surefoot.integrations.optuna.float_grid import value_on_grid
from surefoot.spaces import Arc
from surefoot.types import InvalidInput

_MAX_LEVELS = 64  # a finer grid is treated as continuous, then rounded
_DIGITS = 12  # of an optional number
_ROUNDING = 1e-8  # of a step, within which a float is on the grid
_LEAST_SHIFT = 1e-9  # of the scale, from a special value on it
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


class Scale(Protocol):
    """The values of a parameter on the unit interval, in their order."""

    @property
    def levels(self) -> Tensor:
        """All positions (m,) in [0, 1], none if there are infinitely or too many."""

    def unit_of(self, value: Any) -> float | None:
        """Position of a value in [0, 1], None if the parameter cannot have it."""

    def value_at(self, unit: float) -> Any:
        """The value nearest to a position."""

    def value_near(self, unit: float, special: Sequence[float]) -> Any:
        """The value nearest to a position that has rounding errors, and no special one."""

    def numbers_at(self, unit: Tensor) -> Tensor:
        """The values at positions (n,), as numbers."""


@dataclass(frozen=True)
class NumberScale:
    """From the lowest to the highest number, logarithmic if the distribution is."""

    distribution: Number

    @property
    def levels(self) -> Tensor:
        step = self.distribution.step
        number = 0 if step is None else self._index(self.distribution.high) + 1
        if not 0 < number <= _MAX_LEVELS:
            return torch.zeros(0, dtype=torch.float64)
        unit = [self._to_unit(self._nth(index)) for index in range(number)]
        return torch.tensor(unit, dtype=torch.float64)

    def unit_of(self, value: Any) -> float | None:
        try:
            internal = self.distribution.to_internal_repr(value)
        except (ValueError, OverflowError):
            return None
        if not self.distribution.low <= internal <= self.distribution.high:
            return None
        if isinstance(self.distribution, FloatDistribution) and self.distribution.step is not None:
            nearest = self._nth(self._index(internal))
            if abs(internal - nearest) <= _ROUNDING * self.distribution.step:
                internal = nearest  # one place for 0.6 and 0.6000000000000001
        return self._to_unit(internal)

    def _index(self, value: float) -> int:
        """Number of steps from the lowest value to the nearest on the grid."""
        return round((value - self.distribution.low) / (self.distribution.step or 1))

    def _nth(self, index: int) -> float:
        """The value so many steps above the lowest."""
        low, high, step = self.distribution.low, self.distribution.high, self.distribution.step or 1
        if isinstance(self.distribution, IntDistribution):
            return low + index * step
        return min(max(value_on_grid(low, step, index), low), high)

    def _to_unit(self, value: float) -> float:
        low, high = float(self.distribution.low), float(self.distribution.high)
        if self.distribution.log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low)

    def value_at(self, unit: float) -> Any:
        low, high, step = self.distribution.low, self.distribution.high, self.distribution.step
        if unit <= 0.0 or unit >= 1.0:
            value = low if unit <= 0.0 else high  # exactly, without the rounding of the logarithm
        elif self.distribution.log:
            value = math.exp(math.log(low) + unit * (math.log(high) - math.log(low)))
        else:
            value = low + unit * (high - low)
        whole = isinstance(self.distribution, IntDistribution)
        if step is not None:
            value = self._nth(self._index(value))
        value = min(max(value, low), high)
        return int(value) if whole else float(value)

    def value_near(self, unit: float, special: Sequence[float]) -> Any:
        value = self._without_rounding_error(self.value_at(unit))
        shift = _LEAST_SHIFT if unit < 0.5 else -_LEAST_SHIFT
        # Special values are apart from the scale, so that another one is taken, further inwards.
        while value in special and abs(shift) < 1.0:
            value, shift = self.value_at(unit + shift), 2.0 * shift
        return value

    def _without_rounding_error(self, value: float) -> float:
        """An integer as it is, a float to the digits that rounding leaves alone."""
        if isinstance(value, int):
            return value
        low, high = self.distribution.low, self.distribution.high
        return min(max(float(f"{value:.{_DIGITS}g}"), low), high)

    def numbers_at(self, unit: Tensor) -> Tensor:
        low, high = float(self.distribution.low), float(self.distribution.high)
        if self.distribution.log:
            values = (math.log(low) + unit * (math.log(high) - math.log(low))).exp()
        else:
            values = low + unit * (high - low)
        values = torch.where(unit <= 0.0, low, torch.where(unit >= 1.0, high, values))
        step = self.distribution.step
        if isinstance(self.distribution, IntDistribution):
            values = low + ((values - low) / step).round() * step
        elif step is not None:
            values = values.new_tensor([self._nth(self._index(one)) for one in values.tolist()])
        return values.clamp(low, high)


@dataclass(frozen=True)
class OrderedScale:
    """Numbers in increasing order at equal distances, such as powers of two."""

    distribution: CategoricalDistribution

    @property
    def levels(self) -> Tensor:
        number = len(self.distribution.choices)
        if number > _MAX_LEVELS:
            return torch.zeros(0, dtype=torch.float64)
        return torch.arange(number, dtype=torch.float64) / (number - 1)

    def unit_of(self, value: Any) -> float | None:
        try:
            index = self.distribution.to_internal_repr(value)
        except ValueError:
            return None
        return float(index) / (len(self.distribution.choices) - 1)

    def value_at(self, unit: float) -> Any:
        last = len(self.distribution.choices) - 1
        return self.distribution.choices[min(max(round(unit * last), 0), last)]

    def value_near(self, unit: float, special: Sequence[float]) -> Any:
        return self.value_at(unit)

    def numbers_at(self, unit: Tensor) -> Tensor:
        numbers = unit.new_tensor([float(one) for one in self.distribution.choices])
        last = len(numbers) - 1
        return numbers[(unit * last).round().long().clamp(0, last)]


@dataclass(frozen=True)
class EncodedNumber:
    """A value of a scale."""

    scale: Scale
    first: int

    @property
    def columns(self) -> list[int]:
        return [self.first]

    @property
    def levels(self) -> Tensor:
        """All positions (m,) in [0, 1], none if the number is continuous or has too many."""
        return self.scale.levels

    def encode(self, value: Any) -> Tensor | None:
        unit = self.scale.unit_of(value)
        return None if unit is None else torch.tensor([unit], dtype=torch.float64)

    def decode(self, encoded: Tensor) -> Any:
        return self.scale.value_at(float(encoded[0]))

    def holds(self, encoded: Tensor, comparison: Comparison) -> Tensor:
        return comparison.holds(self.scale.numbers_at(encoded[:, 0]))


@dataclass(frozen=True, eq=False)
class EncodedOptional:
    """A value of a scale that may be absent, or a special value apart from the scale."""

    scale: Scale
    special: tuple[float, ...]
    arc: Arc

    @classmethod
    def of(cls, scale: Scale, special: Sequence[float], first: int) -> EncodedOptional:
        """Its coordinates begin with `first`."""
        positions = scale.levels
        isolated = len(positions) > 0
        if not isolated:
            positions = torch.linspace(0.0, 1.0, _POSITIONS, dtype=torch.float64)
        if special:
            values = [scale.value_at(float(unit)) for unit in positions]
            positions = positions[[value not in special for value in values]]
        kinds = tuple(range(first + 2, first + 3 + len(special))) if special else ()
        return cls(scale, tuple(special), Arc(first, first + 1, positions, isolated, kinds))

    @property
    def columns(self) -> list[int]:
        return list(self.arc.columns)

    def encode(self, value: Any) -> Tensor | None:
        if value in self.special:
            return self.arc.at_special(torch.tensor([self.special.index(value)]))[0]
        unit = self.scale.unit_of(value)
        return None if unit is None else self.arc.at(torch.tensor([unit], dtype=torch.float64))[0]

    def decode(self, encoded: Tensor) -> Any:
        special = int(self.arc.special(encoded[None])[0])
        if special >= 0:
            return self.special[special]
        return self.scale.value_near(float(self.arc.number(encoded[None])[0]), self.special)

    def holds(self, encoded: Tensor, comparison: Comparison) -> Tensor:
        values = self.scale.numbers_at(self.arc.number(encoded))
        if self.special:
            special = self.arc.special(encoded)
            table = values.new_tensor(self.special)
            values = torch.where(special >= 0, table[special.clamp_min(0)], values)
        return (encoded != 0.0).any(-1) & comparison.holds(values)


def encoded_parameter(
    distribution: BaseDistribution,
    first: int,
    special: Sequence[float],
    *,
    optional: bool,
    ordered: bool,
) -> EncodedParameter:
    """The encoding that suits a parameter.

    Args:
        distribution: Its distribution, without special values.
        first: Its first coordinate.
        special: Its special values.
        optional: Whether it may be absent.
        ordered: Whether its choices are numbers in increasing order.

    Raises:
        InvalidInput: If the distribution is none of Optuna's.
    """
    if isinstance(distribution, CategoricalDistribution):
        if not ordered:
            return EncodedCategory(distribution, first)
        scale: Scale = OrderedScale(distribution)
    elif isinstance(distribution, FloatDistribution | IntDistribution):
        scale = NumberScale(distribution)
        kind = int if isinstance(distribution, IntDistribution) else float
        special = [kind(value) for value in special]
    else:
        raise InvalidInput(
            f"{distribution!r} came, expected a float, an integer or a categorical distribution."
        )
    if special or optional:
        return EncodedOptional.of(scale, special, first)
    return EncodedNumber(scale, first)

"""Values of a parameter on the unit interval, in their order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from surefoot._internal.numbers import ROUNDING
from surefoot.parameters.decimal_grid import DIGITS
from surefoot.parameters.parameter import MOST_VALUES, Choice, Float, Int, Number, is_number

_MAX_LEVELS = 64  # a finer grid is treated as continuous, then rounded


@dataclass(frozen=True)
class NumberScale:
    """From the lowest to the highest number, logarithmic if the number is."""

    number: Number

    @property
    def levels(self) -> Tensor:
        """All positions (m,) in [0, 1], none if there are infinitely or too many."""
        number = self.number.levels
        if not 0 < number <= _MAX_LEVELS:
            return torch.zeros(0, dtype=torch.float64)
        unit = [self._to_unit(self.number.nth(index)) for index in range(number)]
        return torch.tensor(unit, dtype=torch.float64)

    def unit_of(self, value: Any) -> float | None:
        """Position of a value in [0, 1], None if the parameter cannot have it."""
        number = self.number
        if not is_number(value) or not number.low <= value <= number.high:
            return None
        internal = float(value)
        if isinstance(number, Float) and number.step is not None:
            nearest = number.nth(number.index(internal))
            if abs(internal - nearest) <= ROUNDING * number.step:
                internal = nearest  # one place for 0.6 and 0.6000000000000001
        return self._to_unit(internal)

    def _to_unit(self, value: float) -> float:
        low, high = float(self.number.low), float(self.number.high)
        if self.number.log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low)

    def value_at(self, unit: float) -> Any:
        """The value nearest to a position."""
        low, high = self.number.low, self.number.high
        if unit <= 0.0 or unit >= 1.0:
            value: float = low if unit <= 0.0 else high  # without the rounding of the logarithm
        elif self.number.log:
            value = math.exp(math.log(low) + unit * (math.log(high) - math.log(low)))
            value = float(f"{value:.15g}")  # 100.0, not 100.00000000000004
        else:
            value = low + unit * (high - low)
        if self.number.step is not None:
            value = self.number.nth(self.number.index(value))
        return self.number.cast(min(max(value, low), high))

    def value_near(self, unit: float, special: Sequence[float]) -> Any:
        """The value nearest to a position that has rounding errors, and no special one."""
        value = self._without_rounding_error(self.value_at(unit))
        shift = ROUNDING if unit < 0.5 else -ROUNDING
        # Special values are apart from the scale, so that another one is taken, further inwards.
        while value in special and abs(shift) < 1.0:
            value, shift = self.value_at(unit + shift), 2.0 * shift
        return value

    def _without_rounding_error(self, value: float) -> float:
        """An integer as it is, a float to the digits that rounding leaves alone."""
        if isinstance(value, int):
            return value
        return min(max(float(f"{value:.{DIGITS}g}"), self.number.low), self.number.high)

    def numbers_at(self, unit: Tensor) -> Tensor:
        """The values at positions (n,), with the gradients of a scale without steps."""
        number = self.number
        low, high = float(number.low), float(number.high)
        values = (
            (math.log(low) + unit * (math.log(high) - math.log(low))).exp()
            if number.log
            else low + unit * (high - low)
        )
        smooth = torch.where(unit <= 0.0, low, torch.where(unit >= 1.0, high, values))
        values = smooth.detach()
        if isinstance(number, Int):
            values = low + ((values - low) / number.step).round() * number.step
        elif number.step is not None:
            values = self._on_grid(values, number.step)
        return _with_gradient(values.clamp(low, high), values_of=smooth)

    def _on_grid(self, values: Tensor, step: float) -> Tensor:
        if len(self._table):
            index = ((values - float(self.number.low)) / step).round().long()
            return self._table.to(values)[index.clamp(0, len(self._table) - 1)]
        every = [self.number.nth(self.number.index(one)) for one in values.tolist()]
        return values.new_tensor(every)

    @cached_property
    def _table(self) -> Tensor:
        """All values of a grid (m,), none if they are too many."""
        number = self.number.levels if self.number.levels <= MOST_VALUES else 0
        return torch.tensor([self.number.nth(i) for i in range(number)], dtype=torch.float64)


@dataclass(frozen=True)
class OrderedScale:
    """Numbers in increasing order at equal distances, such as powers of two."""

    choice: Choice

    @property
    def levels(self) -> Tensor:
        number = len(self.choice.choices)
        if number > _MAX_LEVELS:
            return torch.zeros(0, dtype=torch.float64)
        return torch.arange(number, dtype=torch.float64) / (number - 1)

    def unit_of(self, value: Any) -> float | None:
        index = self.choice.index(value)
        return None if index is None else float(index) / (len(self.choice.choices) - 1)

    def value_at(self, unit: float) -> Any:
        last = len(self.choice.choices) - 1
        return self.choice.choices[min(max(round(unit * last), 0), last)]

    def value_near(self, unit: float, special: Sequence[float]) -> Any:
        return self.value_at(unit)

    def numbers_at(self, unit: Tensor) -> Tensor:
        numbers = unit.new_tensor([float(one) for one in self.choice.choices])
        position = (unit * (len(numbers) - 1)).clamp(0, len(numbers) - 1)
        below = position.detach().floor().long().clamp_max(len(numbers) - 2)
        between = numbers[below] + (position - below) * (numbers[below + 1] - numbers[below])
        return _with_gradient(numbers[position.detach().round().long()], values_of=between)


Scale = NumberScale | OrderedScale
"""The values of a parameter on the unit interval, in their order."""


def _with_gradient(values: Tensor, *, values_of: Tensor) -> Tensor:
    """The values (n,), with the gradients of others (n,)."""
    return values + (values_of - values_of.detach()) if values_of.requires_grad else values

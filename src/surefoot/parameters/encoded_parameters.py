"""Parameters as coordinates of a box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from surefoot.parameters.columns import Column, Labels
from surefoot.parameters.conditions import Comparison
from surefoot.parameters.parameter import Choice, Parameter
from surefoot.parameters.scales import NumberScale, OrderedScale, Scale
from surefoot.spaces import Arc

_POSITIONS = 129  # of an optional number that a search tries


@dataclass(frozen=True)
class EncodedCategory:
    """A category, one-hot."""

    choice: Choice
    first: int

    @property
    def columns(self) -> list[int]:
        """Coordinates of the parameter."""
        return list(range(self.first, self.first + len(self.choice.choices)))

    def encode(self, value: Any) -> Tensor | None:
        """The coordinates (columns,) of a value, None if the parameter cannot have it."""
        index = self.choice.index(value)
        if index is None:
            return None
        return torch.eye(1, len(self.columns), dtype=torch.float64).roll(index)[0]

    def decode(self, encoded: Tensor) -> Any:
        """The value nearest to coordinates (columns,)."""
        return self.choice.choices[int(encoded.argmax())]

    def holds(self, encoded: Tensor, comparison: Comparison) -> Tensor:
        """Whether a comparison holds (n,) for coordinates (n, columns), where it is active."""
        holds = [float(comparison.holds(choice)) for choice in self.choice.choices]
        return encoded @ encoded.new_tensor(holds) > 0.5

    def values(self, encoded: Tensor) -> Column:
        """The values (n,) at coordinates (n, columns), numbers with gradients."""
        index = encoded.argmax(-1)
        if not self.choice.numeric:
            return Labels(index, tuple(self.choice.choices))
        return encoded.new_tensor([float(choice) for choice in self.choice.choices])[index]


@dataclass(frozen=True, eq=False)
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
        return comparison.holds(self.values(encoded))

    def values(self, encoded: Tensor) -> Tensor:
        return self.scale.numbers_at(encoded[:, 0])


@dataclass(frozen=True, eq=False)
class EncodedOptional:
    """A value of a scale that may be absent, or a special value apart from the scale."""

    scale: Scale
    special: tuple[float, ...]
    arc: Arc

    @classmethod
    def of(cls, scale: Scale, special: tuple[float, ...], first: int) -> EncodedOptional:
        """Encoding of a parameter whose coordinates begin with `first`."""
        positions = scale.levels
        isolated = len(positions) > 0
        if not isolated:
            positions = torch.linspace(0.0, 1.0, _POSITIONS, dtype=torch.float64)
        if special:
            values = [scale.value_at(float(unit)) for unit in positions]
            positions = positions[[value not in special for value in values]]
        kinds = tuple(range(first + 2, first + 3 + len(special))) if special else ()
        return cls(scale, special, Arc(first, first + 1, positions, isolated, kinds))

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
        return (encoded != 0.0).any(-1) & comparison.holds(self.values(encoded))

    def values(self, encoded: Tensor) -> Tensor:
        values = self.scale.numbers_at(self._number(encoded))
        if self.special:
            special = self.arc.special(encoded)
            table = values.new_tensor(self.special)
            values = torch.where(special >= 0, table[special.clamp_min(0)], values)
        return values

    def _number(self, encoded: Tensor) -> Tensor:
        """Positions (n,); of an inactive or a special value that of the lowest number."""
        if not encoded.requires_grad:
            return self.arc.number(encoded)
        # At the centre the angle has no gradient, and NaN times 0 is NaN.
        centre = (encoded[:, :2] == 0.0).all(-1, keepdim=True)
        lowest = self.arc.at(encoded.new_zeros(1)).expand_as(encoded)
        return self.arc.number(torch.where(centre, lowest, encoded))


EncodedParameter = EncodedCategory | EncodedNumber | EncodedOptional
"""A parameter and its coordinates."""


def encoded_parameter(parameter: Parameter, first: int) -> EncodedParameter:
    """The encoding that suits a parameter.

    Args:
        parameter: The parameter.
        first: Its first coordinate.
    """
    if isinstance(parameter, Choice):
        if not parameter.ordered:
            return EncodedCategory(parameter, first)
        scale: Scale = OrderedScale(parameter)
    else:
        scale = NumberScale(parameter.scale)
    if parameter.special or parameter.when:
        special = tuple(parameter.cast(one) for one in parameter.special)  # type: ignore[union-attr]
        return EncodedOptional.of(scale, special, first)
    return EncodedNumber(scale, first)

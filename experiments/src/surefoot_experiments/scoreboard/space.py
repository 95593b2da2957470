"""Search spaces that travel between processes as JSON.

This module needs NumPy only, since rivals import it in environments of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

Value = float | int | str
Coordinates = Sequence[float] | np.ndarray
Point = dict[str, Value]  # a value for each parameter


class Parameter(Protocol):
    """A parameter: its range, and how a value corresponds to coordinates in [0, 1]."""

    kind: ClassVar[str]

    @property
    def name(self) -> str: ...

    @property
    def width(self) -> int:
        """The number of coordinates."""

    def encode(self, value: Any) -> list[float]:
        """The coordinates of a value."""

    def decode(self, coordinates: Coordinates) -> Value:
        """The value nearest to coordinates."""


@dataclass(frozen=True)
class Float:
    """A real number in [low, high].

    Args:
        name: Its name.
        low: Smallest value.
        high: Largest value.
        log: Whether the coordinate is the logarithm of the value.
    """

    name: str
    low: float
    high: float
    log: bool = False
    kind: ClassVar[str] = "float"
    width: ClassVar[int] = 1

    def encode(self, value: Any) -> list[float]:
        """The coordinate of a value."""
        low, high, at = _scaled(self.log, self.low, self.high, float(value))
        return [(at - low) / (high - low)]

    def decode(self, coordinates: Coordinates) -> float:
        """The value at a coordinate; those outside [0, 1] give an end of the range."""
        low, high = _scaled(self.log, self.low, self.high)
        at = low + (high - low) * min(max(float(coordinates[0]), 0.0), 1.0)
        return min(max(math.exp(at) if self.log else at, self.low), self.high)


@dataclass(frozen=True)
class Integer:
    """A whole number in [low, high]; each has the same share of [0, 1], or of its logarithm."""

    name: str
    low: int
    high: int
    log: bool = False
    kind: ClassVar[str] = "integer"
    width: ClassVar[int] = 1

    def encode(self, value: Any) -> list[float]:
        """The coordinate of a value."""
        low, high, at = _scaled(self.log, self.low - 0.5, self.high + 0.5, float(value))
        return [(at - low) / (high - low)]

    def decode(self, coordinates: Coordinates) -> int:
        """The value at a coordinate; those outside [0, 1] give an end of the range."""
        low, high = _scaled(self.log, self.low - 0.5, self.high + 0.5)
        at = low + (high - low) * min(max(float(coordinates[0]), 0.0), 1.0)
        return min(max(round(math.exp(at) if self.log else at), self.low), self.high)


@dataclass(frozen=True)
class Categorical:
    """One of several texts, without an order; a coordinate for each."""

    name: str
    choices: tuple[str, ...]
    kind: ClassVar[str] = "categorical"

    @property
    def width(self) -> int:
        """The number of choices."""
        return len(self.choices)

    def encode(self, value: Any) -> list[float]:
        """One at the choice, zero elsewhere."""
        return [float(value == choice) for choice in self.choices]

    def decode(self, coordinates: Coordinates) -> str:
        """The choice with the largest coordinate."""
        return self.choices[int(np.argmax(coordinates))]


def _scaled(log: bool, *values: float) -> list[float]:
    return [math.log(value) for value in values] if log else list(values)


@dataclass(frozen=True)
class Space:
    """A product of parameters.

    Example:
        >>> space = Space((Float("x", 0.0, 2.0), Categorical("mode", ("a", "b"))))
        >>> space.encode({"x": 1.0, "mode": "b"}).tolist()
        [0.5, 0.0, 1.0]
        >>> Space.from_json(space.to_json()) == space
        True
    """

    parameters: tuple[Parameter, ...]

    @property
    def width(self) -> int:
        """The number of coordinates of all parameters together."""
        return sum(each.width for each in self.parameters)

    @property
    def is_box(self) -> bool:
        """Whether all parameters are real numbers."""
        return all(each.kind == Float.kind for each in self.parameters)

    def encode(self, point: Mapping[str, Any]) -> np.ndarray:  # (width,)
        """The coordinates of a point, each in [0, 1]."""
        return np.array([x for each in self.parameters for x in each.encode(point[each.name])])

    def decode(self, coordinates: Coordinates) -> Point:
        """The point nearest to coordinates."""
        point: Point = {}
        first = 0
        for each in self.parameters:
            point[each.name] = each.decode(coordinates[first : first + each.width])
            first += each.width
        return point

    def sample(self, generator: np.random.Generator) -> Point:
        """A random point, uniform in each parameter or in its logarithm."""
        return self.decode(generator.random(self.width))

    def to_json(self) -> list[dict[str, Any]]:
        """The parameters as values of JSON."""
        return [{"kind": each.kind, **asdict(each)} for each in self.parameters]  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, parameters: Iterable[Mapping[str, Any]]) -> Space:
        """The space that `to_json` described."""
        return cls(tuple(_parameter(**each) for each in parameters))


def box(low: Sequence[float], high: Sequence[float]) -> Space:
    """A box; its parameters are named x0, x1 and so on."""
    pairs = enumerate(zip(low, high, strict=True))
    return Space(tuple(Float(f"x{i}", float(a), float(b)) for i, (a, b) in pairs))


def _parameter(kind: str, **settings: Any) -> Parameter:
    if kind == Categorical.kind:
        return Categorical(settings["name"], tuple(settings["choices"]))
    families: dict[str, Callable[..., Parameter]] = {Float.kind: Float, Integer.kind: Integer}
    return families[kind](**settings)

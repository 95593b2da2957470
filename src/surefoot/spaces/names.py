"""Names of the points of a box: configurations of named parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from torch import Tensor

from surefoot._internal import checks
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from surefoot.spaces.box import Box


class Names(Protocol):
    """Configurations, as values by parameter name, that stand for points."""

    def point(self, params: Mapping[str, Any]) -> Tensor:
        """The point (d,) of a configuration; `InvalidInput` if it is none of the space."""

    def part(self, box: Box, params: Mapping[str, Any]) -> Box:
        """The part of their box in which some parameters have given values."""

    def configuration(self, point: Tensor) -> dict[str, Any]:
        """The configuration nearest to a point (d,)."""

    def rounded(self, point: Tensor) -> Tensor:
        """The point (d,) of the configuration nearest to a point (d,)."""

    def check(self, point: Tensor) -> None:
        """Raise `InvalidInput` if the configuration of a point (d,) violates a constraint."""


@dataclass(frozen=True)
class Unnamed:
    """No names: a point stands for itself."""

    def point(self, params: Mapping[str, Any]) -> Tensor:
        """Refuse a configuration."""
        raise InvalidInput(
            f"the configuration {checks.shown(dict(params))} came, but the space has no named "
            "parameters: pass a point (d,), or a `parameters.Space` as the space."
        )

    def part(self, box: Box, params: Mapping[str, Any]) -> Box:
        """Refuse values by name."""
        raise InvalidInput(
            f"the values {checks.shown(dict(params))} came, but the space has no named parameters: "
            "pass `box.given({0: 0.3})`, or a `parameters.Space` as the space."
        )

    def configuration(self, point: Tensor) -> dict[str, Any]:
        """No values."""
        return {}

    def rounded(self, point: Tensor) -> Tensor:
        """The point itself."""
        return point

    def check(self, point: Tensor) -> None:
        """Refuse nothing."""


UNNAMED = Unnamed()

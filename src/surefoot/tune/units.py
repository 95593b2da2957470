"""Units of the objective, of the parameters and of what is limited, for people to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Units:
    """Units by name.

    Args:
        value: Unit of the objective, empty if the study file has none.
        parameters: Units of the parameters that have one, by name.
        special: Special values by parameter name, which have no unit.
        reported: Units of the constraints and further objectives that have one, by name.

    Example:
        >>> units = Units("ms", {"cache": "MB"}, {"cache": [0]})
        >>> units.of_value("12.5"), units.of("cache", 64, "64"), units.of("cache", 0, "0")
        ('12.5 ms', '64 MB', '0 (special)')
    """

    value: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    special: Mapping[str, Sequence[float]] = field(default_factory=dict)
    reported: Mapping[str, str] = field(default_factory=dict)

    def of_value(self, text: str) -> str:
        """The text of a value of the objective, with its unit."""
        return f"{text} {self.value}" if self.value else text

    def of(self, name: str, value: Any, text: str) -> str:
        """The text of a parameter's value, with its unit, or that it is special."""
        if value in self.special.get(name, ()):
            return f"{text} (special)"
        unit = self.parameters.get(name, "")
        return f"{text} {unit}" if unit else text

    def named(self, name: str) -> str:
        """The name of a parameter, a constraint or a further objective, with its unit."""
        unit = self.parameters.get(name) or self.reported.get(name)
        return f"{name} [{unit}]" if unit else name

    def titled(self, title: str) -> str:
        """The title of an axis of the objective, with its unit in brackets."""
        return f"{title} [{self.value}]" if self.value else title

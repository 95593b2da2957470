"""Estimates, their intervals and their units as text."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_LEAST, _MOST = 5, 15  # significant digits


@dataclass(frozen=True)
class Units:
    """Units by name.

    Args:
        value: Unit of the objective, empty if the study file has none.
        parameters: Units of the parameters that have one, by name.
        special: Special values by parameter name, which have no unit.
        reported: Units of the constraints and of several objectives that have one, by name.

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

    def settings(self, values: Mapping[str, Any]) -> str:
        """Values of parameters or variables by name, with their units.

        Example:
            >>> Units("ms", {"cache": "MB"}).settings({"cache": 64.0, "mode": "fast"})
            'cache=64.0 MB, mode=fast'
        """
        texts = {n: one if isinstance(one, str) else setting_text(one) for n, one in values.items()}
        return ", ".join(f"{name}={self.of(name, values[name], texts[name])}" for name in values)

    def named(self, name: str) -> str:
        """The name of a parameter, a constraint or a further objective, with its unit."""
        unit = self.parameters.get(name) or self.reported.get(name)
        return f"{name} [{unit}]" if unit else name

    def titled(self, title: str) -> str:
        """The title of an axis of the objective, with its unit in brackets."""
        return f"{title} [{self.value}]" if self.value else title


def quantity(estimand: str, risk: str | None) -> str:
    """Name of an estimate.

    Args:
        estimand: Location, median or mean of measurements.
        risk: Name of the risk that it is, in a study with an environment.

    Example:
        >>> quantity("location", None), quantity("mean", None), quantity("mean", "worst case")
        ('value', 'mean', 'worst case')
    """
    return risk or ("value" if estimand == "location" else estimand)


def measured_text(value: float) -> str:
    """A measured value, with five significant digits, and a large one in units.

    Example:
        >>> measured_text(12.345678), measured_text(1e9 + 0.25), measured_text(99999.7)
        ('12.346', '1000000000.2', '99999.7')
        >>> measured_text(2e-6), measured_text(1e30)
        ('2e-06', '1e+30')
    """
    text = f"{value + 0.0:.{_LEAST}g}"
    return f"{value:.1f}".removesuffix(".0") if "e+" in text and abs(value) < 10.0**_MOST else text


def setting_text(value: Any) -> str:
    """A parameter's value as in a study file, a float with the digits of a measured value.

    Example:
        >>> setting_text(0.36727829184383154), setting_text(12.0), setting_text("on")
        ('0.36728', '12.0', '"on"')
    """
    known = float(measured_text(value)) if isinstance(value, float) else value
    return json.dumps(known, ensure_ascii=False)


def estimate_texts(value: float, lower: float, upper: float) -> tuple[str, str, str]:
    """An estimate and the ends of its interval, with digits enough to show the width.

    Args:
        value: The estimate.
        lower: Lower end of its interval.
        upper: Upper end.

    Example:
        >>> estimate_texts(1e9 + 0.25, 1e9, 1e9 + 0.5)
        ('1000000000.25', '1000000000', '1000000000.5')
    """
    largest, width = max(abs(value), abs(lower), abs(upper)), upper - lower
    digits = _LEAST
    if math.isfinite(largest) and width > 0.0:
        needed = math.ceil(math.log10(largest) - math.log10(width)) + 2
        digits = min(max(needed, _LEAST), _MOST)
    return (
        f"{value + 0.0:.{digits}g}",  # of minus zero, too
        f"{lower + 0.0:.{digits}g}",
        f"{upper + 0.0:.{digits}g}",
    )


def ends_as_json(lower: float, upper: float) -> dict[str, float | None]:
    """The ends of an interval as JSON values, null for that of zeros alone.

    Example:
        >>> ends_as_json(1.0, 2.5), ends_as_json(0.0, 0.0)
        ({'lower': 1.0, 'upper': 2.5}, {'lower': None, 'upper': None})
    """
    known = (lower, upper) if lower < upper else (None, None)
    return dict(zip(("lower", "upper"), known, strict=True))


def estimate_text(value: float, lower: float, upper: float) -> str:
    """An estimate and its interval, which one of zeros alone has none of.

    Example:
        >>> estimate_text(12.5, 12.0, 13.25), estimate_text(0.0, 0.0, 0.0)
        ('12.5 (12 to 13.25)', '0')
    """
    middle, low, high = estimate_texts(value, lower, upper)
    return f"{middle} ({low} to {high})" if lower < upper else middle

"""Pareto front of a study with several objectives, in words and as JSON."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from surefoot.integrations.optuna import Front, ParetoPoint
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.estimate_text import Units, ends_as_json, estimate_text
from surefoot.tune.measuring.quantity import sole
from surefoot.tune.plain_text import shown
from surefoot.tune.study.state import StudyState
from surefoot.types import InvalidInput

_PREFERENCE = re.compile(r"\s*([^<>=\s]+)\s*(<=|>=)\s*([^<>=]*[^<>=\s])\s*")


def preferences(study_file: StudyFile, texts: Iterable[str]) -> dict[str, float]:
    """Limits of objectives by name, from texts such as "latency<=20" or "latency<=20us".

    Args:
        study_file: The study file.
        texts: The texts; each may have several, separated by commas.

    Returns:
        The limits, in the units of the study.

    Raises:
        InvalidInput: If one is no limit of an objective in its bad direction, or has a unit that
            cannot be converted to that of the objective.
    """
    limits: dict[str, float] = {}
    examples = [
        f"{name}{'<=' if one.direction == 'minimize' else '>='}NUMBER"
        for name, one in study_file.scheme.objectives.items()
    ]
    for text in (part for one in texts for part in one.split(",")):
        if not examples:
            raise InvalidInput(
                f"--prefer {shown(text)} came with a study of one objective, expected one with "
                "[objectives]: leave it out"
            )
        found = _PREFERENCE.fullmatch(text)
        if found is None or f"{found[1]}{found[2]}NUMBER" not in examples:
            raise InvalidInput(f"--prefer: got {shown(text)}, expected {' or '.join(examples)}")
        name, number = found[1], sole(found[3])
        if number is None or number.sem or not math.isfinite(number.value):
            raise InvalidInput(f"--prefer: got {shown(text)}, expected a number behind {found[2]}")
        unit = study_file.units.reported.get(name, "")
        limit = number.limit_in(unit)
        if limit is None:
            known = f"{name} is in {unit}; expected a number of that unit"
            unknown = f"no unit of {name} is known; expected a number, or `unit` in [objectives]"
            raise InvalidInput(f"--prefer: got {shown(text)}, and {known if unit else unknown}")
        limits[name] = limit
    return limits


def front_words(front: Front) -> str:
    """The number of points of a front, and the range of each objective on it."""
    ranges = (
        f"{name} {min(values):.4g} to {max(values):.4g}"
        for name in front.names
        if (values := [one.values[name] for one in front])
    )
    return f"front of {len(front)}: {', '.join(ranges)}"


def values_text(
    point: ParetoPoint, of: Mapping[str, str], names: Iterable[str] | None = None
) -> str:
    """Values of objectives at a point, with their 95 % intervals.

    Args:
        point: The point.
        of: Units of the objectives by name, empty where there is none.
        names: The objectives, by default all of them.
    """
    return ", ".join(
        f"{name} {estimate_text(point.values[name], point.lower[name], point.upper[name])}"
        + (f" {of[name]}" if of.get(name) else "")
        for name in names or point.values
    )


@dataclass(frozen=True, eq=False)
class StudyFront:
    """The Pareto front of a study, and the point of it that is recommended.

    Args:
        front: The front.
        chosen: The point.
        note: Why the point does not keep the limits asked for; empty if it does.
        units: Units of the parameters.
        of: Units of the objectives by name, empty where there is none.
    """

    front: Front
    chosen: ParetoPoint
    note: str
    units: Units

    @classmethod
    def of_state(cls, state: StudyState) -> StudyFront:
        """The front of a study at one time."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            chosen = state.preferred
        note = " ".join(str(one.message) for one in caught)
        return cls(state.front, chosen, note, state.study_file.units)

    @property
    def lines(self) -> list[str]:
        """A line for each point: its values with 95 % intervals, and its configuration."""
        rows = [
            (values_text(one, self.units.reported), self.units.settings(one.params))
            for one in self.front
        ]
        width = max(len(values) for values, _ in rows)
        return [
            f"Front, {len(self.front)} of {len(self.front.candidates)} measured configurations:",
            *(f"  {values:<{width}}  {settings}" for values, settings in rows),
        ]

    @property
    def value(self) -> str:
        """The objectives at the recommended point."""
        return values_text(self.chosen, self.units.reported)

    @property
    def further(self) -> str:
        """All objectives but the first at the recommended point."""
        return values_text(self.chosen, self.units.reported, self.front.names[1:])

    @property
    def as_json(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "objectives": point_as_json(self.chosen)["objectives"],
            "front": [point_as_json(one) for one in self.front],
        }


def point_as_json(point: ParetoPoint) -> dict[str, Any]:
    """A point as JSON values."""
    return {
        "params": point.params,
        "trials": list(point.trials),
        "objectives": {
            name: {"value": value, **ends_as_json(point.lower[name], point.upper[name])}
            for name, value in point.values.items()
        },
        "probability": point.probability,
    }

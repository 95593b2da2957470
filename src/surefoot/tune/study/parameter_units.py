"""Units of parameters and measurements: recorded with a study, converted for another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna

from surefoot.integrations.optuna import CONSTRAINTS, STANDARD_ERROR, STANDARD_ERRORS
from surefoot.parameters import Int
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import unit_phrase
from surefoot.tune.measuring.quantity import VALUE, into_declared
from surefoot.tune.measuring.unit_scales import factor, scaled
from surefoot.tune.study.compatibility import DEFINITION, PARAMETER_UNITS
from surefoot.types import InvalidInput


def recorded_parameter_units(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Units of a study's parameters by name, where they were recorded, from its attributes."""
    stored = attributes.get(DEFINITION)
    units = stored.get(PARAMETER_UNITS) if isinstance(stored, dict) else None
    return dict(units) if isinstance(units, dict) else {}


def size_of(what: str, theirs: str, unit: str, file: Path, study_file: StudyFile) -> float:
    """Factor of a number of another study in the unit of a study.

    Args:
        what: What the number is of, in words.
        theirs: Its unit.
        unit: The unit of the study.
        file: Storage of the other study, for messages.
        study_file: The study file.

    Raises:
        InvalidInput: If the unit cannot be converted.
    """
    size, into = factor(theirs, unit), unit
    if size is None and unit:
        size, into = into_declared(theirs, unit)
    if size is None or into != unit:
        raise InvalidInput(
            f"{file}: {what} is {unit_phrase(theirs)}, and that of {study_file.path.name} is "
            f"{unit_phrase(unit)}, expected a unit that can be converted to it"
        )
    return size


@dataclass(frozen=True)
class ParameterConversion:
    """Parameters of another study's trials in the units of a study.

    Args:
        study_file: The study file.
        sizes: What values are multiplied by, by name of the parameter.
        special: Values without a unit, by name of the parameter.
    """

    study_file: StudyFile
    sizes: Mapping[str, float]
    special: Mapping[str, Sequence[float]]

    @classmethod
    def between(
        cls,
        other: optuna.Study,
        file: Path,
        study_file: StudyFile,
        units: Mapping[str, str] | None = None,
    ) -> ParameterConversion:
        """The conversion of another study's parameters; of those that have a unit in both.

        Args:
            other: The other study.
            file: Its storage, for messages.
            study_file: The study file.
            units: Units of the study's parameters by name, by default those of the study file.

        Raises:
            InvalidInput: If a unit cannot be converted.
        """
        own, sizes = study_file.units.parameters if units is None else units, {}
        for name, theirs in recorded_parameter_units(other.user_attrs).items():
            size = size_of(name, theirs, own.get(name, theirs), file, study_file)
            if size != 1.0:
                sizes[name] = size
        recorded = other.user_attrs.get(DEFINITION, {}).get("parameters", {})
        special = {name: recorded.get(name, {}).get("special", ()) for name in sizes}
        return cls(study_file, sizes, special)

    def params(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Values by parameter name in the units of the study."""
        return {name: self._converted(name, value) for name, value in given.items()}

    def _converted(self, name: str, value: Any) -> Any:
        if name not in self.sizes or value in self.special[name]:
            return value
        number = scaled(value, self.sizes[name])
        is_whole = isinstance(self.study_file.space.parameters.get(name), Int)
        return int(number) if is_whole and number.is_integer() else number


def attributes_in_units(
    attributes: Mapping[str, Any], sizes: Mapping[str, float]
) -> dict[str, Any]:
    """User attributes of a trial with every number that has a unit in another one.

    Args:
        attributes: The attributes.
        sizes: What numbers are multiplied by, of constraints by name and of the value by `VALUE`;
            by default 1.
    """
    size, found = sizes.get(VALUE, 1.0), dict(attributes)
    if isinstance(error := found.get(STANDARD_ERROR), int | float):
        found[STANDARD_ERROR] = scaled(error, size)
    for key in (CONSTRAINTS, STANDARD_ERRORS):
        if isinstance(others := found.get(key), dict):
            found[key] = {name: scaled(one, sizes.get(name, 1.0)) for name, one in others.items()}
    return found

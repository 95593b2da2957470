"""Measurements in one unit: converted where they can be, refused where they cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import MEASUREMENT, VALUE, Failure, Measurement
from surefoot.tune.measuring.quantity import UNSURE, into_declared
from surefoot.tune.measuring.unit_scales import factor


def declared_units(study_file: StudyFile) -> dict[str, str]:
    """The units that a study file has: of the measurement by the name `VALUE`, and of others."""
    given = {name: one.unit for name, one in study_file.reported.items()}
    return {
        name: unit for name, unit in {VALUE: study_file.objective.unit, **given}.items() if unit
    }


def in_study_units(
    result: Measurement, declared: Mapping[str, str], earlier: Mapping[str, str]
) -> Measurement | Failure:
    """A measurement in the units of its study, with the unit that was printed where it has none.

    A number without a unit is in the declared one. The measurement is converted to the unit of the
    first measurement; a constraint only where its unit is declared, since that of its limit is not
    known otherwise. Of a declared unit that is not known, such as requests/s, `12.7k` is 12,700 and
    `req/s` another name. Of one that is known, `us/op` is so much for one of what is counted.

    Args:
        result: The measurement as it was printed.
        declared: Units of the study file, by name.
        earlier: Units of the study's first measurement, by name.

    Returns:
        The measurement, or why it cannot be compared with the others.
    """
    sizes: dict[str, tuple[float, str]] = {}
    for name, printed in result.units.items():
        first = earlier.get(name)
        if name in declared:
            size, wanted = into_declared(printed, declared[name])
        else:
            wanted = printed if first is None else first
            size = factor(printed, wanted)
        if size is None or (size != 1.0 and name != VALUE and name not in declared):
            return _refused(result, name, printed, wanted)
        if first and factor(first, wanted) != 1.0:
            return _refused(result, name, wanted, first)
        sizes[name] = size, wanted
    return result.scaled(sizes)


def _refused(result: Measurement, name: str, unit: str, other: str) -> Failure:
    what = MEASUREMENT if name == VALUE else name
    return Failure(
        f"{what} is {unit_phrase(unit)}, and those of the study are {unit_phrase(other)}; "
        "expected the same, or its `unit` in the study file before the first measurement",
        "",
        result.seconds,
        blameless=True,
        left_behind=result.left_behind,
        unclear=True,
    )


def unit_phrase(unit: str) -> str:
    """How a number is printed, in words: in its unit, or without one."""
    if unit.endswith(UNSURE):
        return f"followed by `{unit.removesuffix(UNSURE)}`, a unit or the name of something else"
    return f"in {unit}" if unit else "without a unit"

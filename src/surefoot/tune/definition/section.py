"""Common base of all tables of a study file."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

from surefoot.tune.definition.value_name import VALUE, wrong_value_name
from surefoot.tune.plain_text import shown

LARGEST_INTEGER = 2**53  # float64 has all integers up to it
_UNIT = "a text such as 'MB', of at most 20 characters"
_NARROWEST = 1e-300  # of a range: below it, float64 loses digits


class InvalidKey(ValueError):
    """A value that its own type allows, but not its table; `key` is relative to that table."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class Section(BaseModel):
    """A table of the study file. A field's description is what error messages say was expected."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @classmethod
    def keys(cls) -> dict[str, FieldInfo]:
        """The fields by their keys in the file."""
        return {one.alias or name: one for name, one in cls.model_fields.items()}

    @classmethod
    def invalid(cls, field: str, got: object) -> InvalidKey:
        """The error for a field's value that its description rules out."""
        wanted = cls.keys()[field].description
        return InvalidKey(field, f"got {shown(got)}, expected {wanted}")


def check_range(low: float, high: float) -> None:
    """Raise `InvalidKey` unless `low` < `high`."""
    if low >= high:
        raise InvalidKey("low", f"got {shown(low)}, expected less than high = {shown(high)}")
    if not (is_finite(high) and is_finite(low) and is_finite(high - low)):
        raise InvalidKey("low", f"got {shown(low)}, too far from high = {shown(high)} for float64")
    if high - low < _NARROWEST:
        raise InvalidKey("low", f"got {shown(low)}, too near to high = {shown(high)} for float64")


def _check_unit(unit: str | None) -> str | None:
    """Raise `InvalidKey` unless a unit can be shown in a line."""
    if unit is not None and not (unit.strip() and unit.isprintable() and len(unit) <= 20):
        raise InvalidKey("", f"got {shown(unit)}, expected {_UNIT}")
    return unit


def _check_value_name(text: str | None) -> str | None:
    """Raise `InvalidKey` unless a text, if any, names a printed number."""
    if text is not None and (wrong := wrong_value_name(text)):
        raise InvalidKey("", f"got {shown(text)}, {wrong}; expected {VALUE}")
    return text


Finite = Annotated[float, Field(allow_inf_nan=False, description="a finite number")]
Share = Annotated[float, Field(gt=0, lt=1, description="a number strictly between 0 and 1")]
Direction = Annotated[
    Literal["minimize", "maximize"], Field(description="'minimize' or 'maximize'")
]
UnitText = Annotated[str | None, AfterValidator(_check_unit), Field(description=_UNIT)]
PrintedName = Annotated[str | None, AfterValidator(_check_value_name), Field(description=VALUE)]


def is_finite(value: float) -> bool:
    """Whether a number is finite as a float64."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False

"""Common base of all tables of a study file."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

from surefoot._internal.numbers import TINY
from surefoot.tune.plain_text import shown

VALUE = (
    "a key that stands before the number, such as 'p95', a path in JSON output, such as "
    "'results[0].mean', a column of printed cells, such as 'column:qps', or a pattern with "
    "one group, such as '/mean ([0-9.]+) ms/'"
)


MOST_LISTED = 10_000  # of an initial design, or a finite environment
LARGEST_INTEGER = 2**53  # float64 has all integers up to it
_UNIT = "a text such as 'MB', of at most 20 characters"
Finite = Annotated[float, Field(allow_inf_nan=False, description="a finite number")]
Share = Annotated[float, Field(gt=0, lt=1, description="a number strictly between 0 and 1")]
Direction = Annotated[
    Literal["minimize", "maximize"], Field(description="'minimize' or 'maximize'")
]


@dataclass(frozen=True)
class ValueName:
    """A key, a path in JSON, a column, or a pattern.

    Args:
        text: As the study file has it.

    Example:
        >>> ValueName("/mean ([0-9.]+)/").pattern.groups
        1
    """

    text: str

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """The pattern between slashes, None for a key or a path.

        Raises:
            ValueError: If it is none, or has not one group; the message says which.
        """
        if not (len(self.text) > 2 and self.text.startswith("/") and self.text.endswith("/")):
            return None
        try:
            pattern = re.compile(self.text[1:-1], re.MULTILINE)
        except re.error as error:
            raise ValueError(f"not a pattern ({error})") from None
        if pattern.groups != 1:
            raise ValueError(f"a pattern with {pattern.groups} groups")
        return pattern

    @property
    def column(self) -> str | None:
        """The name of a column in printed cells, behind `column:`; None for anything else."""
        before, _, name = self.text.partition(":")
        return name.strip() if before == "column" and name.strip() else None


def wrong_value_name(text: str) -> str:
    """Why a text is no `ValueName`, in a few words; empty if it is one."""
    if not (text.strip() and text.isprintable() and len(text) <= 500):
        return "no printable text of at most 500 characters"
    try:
        _ = ValueName(text).pattern
    except ValueError as error:
        return str(error)
    return ""


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
        return InvalidKey(field, f"got {shown(got)}, expected {cls.keys()[field].description}")


def check_range(low: float, high: float) -> None:
    """Raise `InvalidKey` unless `low` < `high`."""
    if low >= high:
        raise InvalidKey("low", f"got {shown(low)}, expected less than high = {shown(high)}")
    if not (is_finite(high) and is_finite(low) and is_finite(high - low)):
        raise InvalidKey("low", f"got {shown(low)}, too far from high = {shown(high)} for float64")
    if high - low < TINY:
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


UnitText = Annotated[str | None, AfterValidator(_check_unit), Field(description=_UNIT)]
PrintedName = Annotated[str | None, AfterValidator(_check_value_name), Field(description=VALUE)]


def is_finite(value: float) -> bool:
    """Whether a number is finite as a float64."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False

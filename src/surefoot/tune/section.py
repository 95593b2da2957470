"""What every table of a study file is, and how its errors say what was expected."""

from __future__ import annotations

import math
import re

from pydantic import BaseModel, ConfigDict

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class WrongKey(ValueError):
    """A value that is wrong beside another one; `key` is relative to the section that raises it."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class Section(BaseModel):
    """A table of the study file. Field descriptions are what its errors say was expected."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def expected(section: type[Section], field: str, got: object) -> str:
    """What came for a field, and what its description says was expected."""
    return f"got {got!r}, expected {section.model_fields[field].description}"


def check_range(low: float, high: float) -> None:
    """`WrongKey` unless `low` is less than `high`, by an amount that is a number."""
    if low >= high:
        raise WrongKey("low", f"got {low!r}, expected less than high = {high!r}")
    if not math.isfinite(high - low):
        raise WrongKey("low", f"got {low!r}, which is further from high = {high!r} than can be")

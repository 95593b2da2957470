"""Numbers as a person reads them: as many digits as carry something, and no more."""

import math
from typing import Any


def number(value: float, *, digits: int = 4) -> str:
    """`value` with `digits` significant digits, in scientific notation only when far from one."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if not -4 <= magnitude < 7:
        return f"{value:.{digits - 1}e}"
    decimals = max(0, digits - 1 - magnitude)
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def within(value: float, width: float) -> str:
    """`value` to the second digit of `width`, the length of the interval it is known to."""
    if not (math.isfinite(value) and math.isfinite(width)) or width <= 0:
        return number(value)
    finest = math.floor(math.log10(width)) - 1
    if abs(value) >= 1e7 or finest < -7:
        return number(value)
    return f"{value:,.{max(0, -finest)}f}"


def setting(value: Any) -> str:
    """A parameter's value: integers in full, other numbers rounded, the rest as they are."""
    if isinstance(value, float):
        return number(value).replace(",", "")
    return str(value)

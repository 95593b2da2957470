"""Estimates and their intervals as text."""

from __future__ import annotations

import math

LEAST_DIGITS, MOST_DIGITS = 5, 15


def interval_digits(value: float, lower: float, upper: float) -> int:
    """Significant digits of an estimate and its interval, at least 5, that show its width.

    Args:
        value: The estimate.
        lower: Lower end of its interval.
        upper: Upper end.

    Example:
        >>> f"{1e9 + 0.25:.{interval_digits(1e9 + 0.25, 1e9, 1e9 + 0.5)}g}"
        '1000000000.25'
    """
    largest, width = max(abs(value), abs(lower), abs(upper)), upper - lower
    if not (math.isfinite(largest) and width > 0.0):
        return LEAST_DIGITS
    digits = math.ceil(math.log10(largest) - math.log10(width)) + 2
    return min(max(digits, LEAST_DIGITS), MOST_DIGITS)


def estimate_text(value: float, lower: float, upper: float) -> str:
    """An estimate and its interval.

    Example:
        >>> estimate_text(12.5, 12.0, 13.25)
        '12.5 (12 to 13.25)'
    """
    digits = interval_digits(value, lower, upper)
    return f"{value:.{digits}g} ({lower:.{digits}g} to {upper:.{digits}g})"

"""Values as HTML, for notebooks, and bounds as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from html import escape
from typing import Any

_DOWN, _UP = (Context(prec=4, rounding=one) for one in (ROUND_FLOOR, ROUND_CEILING))
_CELL = "text-align:left;padding:0.15em 1em 0.15em 0"


def as_html(title: str, rows: Mapping[str, Any], notes: Sequence[str] = ()) -> str:
    """A title, a table of names and values, and notes, with every text escaped.

    Args:
        title: The title.
        rows: Values by name; a mapping is shown as `name = value`, empty ones are left out.
        notes: Lines below the table.

    Returns:
        HTML that needs no style sheet and runs nothing.

    Example:
        >>> as_html("Query", {"x": "<b>"}).count("&lt;b&gt;")
        1
    """
    cells = "".join(
        f'<tr><th style="{_CELL}">{escape(name)}</th><td style="{_CELL}">{escape(text)}</td></tr>'
        for name, value in rows.items()
        if (text := _text(value))
    )
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<div><strong>{escape(title)}</strong><table>{cells}</table>{below}</div>"


def value_text(value: float, lower: float, upper: float) -> str:
    """A number with its 95 % interval.

    Example:
        >>> value_text(1.0, 0.5, 1.5)
        '1 (0.5 to 1.5)'
    """
    return f"{value:.4g} ({lower:.4g} to {upper:.4g})"


def at_least(bound: float) -> str:
    """A lower bound in four digits, rounded down.

    Example:
        >>> at_least(0.63179), at_least(-0.63171), at_least(62.0)
        ('0.6317', '-0.6318', '62')
    """
    return f"{float(_DOWN.create_decimal(bound)):g}"


def at_most(bound: float) -> str:
    """An upper bound in four digits, rounded up.

    Example:
        >>> at_most(0.63171), at_most(-0.63179), at_most(62.0)
        ('0.6318', '-0.6317', '62')
    """
    return f"{float(_UP.create_decimal(bound)):g}"


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_text(one)}" for name, one in value.items())
    if isinstance(value, float):
        return f"{value:.6g}"
    if hasattr(value, "tolist"):
        return _text(value.tolist())
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return "" if value is None else str(value)

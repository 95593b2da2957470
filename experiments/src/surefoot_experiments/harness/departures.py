"""Departures of a run's settings from the published ones, found by comparing the two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_LABEL = "setting"
NOT_STATED: Any = "not stated"  # as a published value


def setting(label: str, **options: Any) -> Any:
    """A field of a dataclass of settings.

    Args:
        label: Its name in the table of departures.
        **options: Arguments of `dataclasses.field`, such as `default`.

    Returns:
        The field.
    """
    return field(metadata={_LABEL: label}, **options)


def stated(text: str) -> Any:
    """A published value in words, where it is none that the field can have."""
    return text


@dataclass(frozen=True)
class Departure:
    """A setting that is not the published one.

    Args:
        row: Algorithm of the figure, or "problem".
        setting: Name of the setting.
        published: Its published value.
        here: Its value in this row.
    """

    row: str
    setting: str
    published: str
    here: str


def departures(published: DataclassInstance, rows: Mapping[str, Any]) -> list[Departure]:
    """Every setting of each row that differs from the published one.

    Args:
        published: The published settings: a dataclass whose fields are made by `setting`.
        rows: Settings by row, of the same class as the published ones.

    Returns:
        The departures, in the order of rows and fields.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Sampling:
        ...     factor: float = setting("oversampling q")
        >>> departures(Sampling(939.0), {"small dictionary": Sampling(4.0)})
        [Departure(row='small dictionary', setting='oversampling q', published='939', here='4')]
    """
    return [
        Departure(row, one.metadata[_LABEL], _shown(expected), _shown(value))
        for row, settings in rows.items()
        for one in fields(published)
        if (expected := getattr(published, one.name)) != (value := getattr(settings, one.name))
    ]


def departures_table(found: Sequence[Departure]) -> str:
    """The departures as a Markdown table, or a sentence that there are none."""
    if not found:
        return "None."
    cells = [(it.row, it.setting, it.published, it.here) for it in found]
    rows = [" | ".join(text.replace("|", "\\|") for text in row) for row in cells]
    lines = [f"| {row} |" for row in rows]
    return "\n".join(["| row | setting | published | here |", "| --- | --- | --- | --- |", *lines])


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

"""Search spaces inferred from the columns of recorded configurations.

A column of texts that hold numbers, such as "16 8k" or "inactive=30 max=100", is split into a
parameter for each number; where there are several forms of text, the form is a parameter too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from surefoot_experiments.scoreboard.space import (
    Categorical,
    Float,
    Integer,
    Parameter,
    Point,
    Space,
)

LOG_RATIO = 1000.0  # largest over smallest value from which a positive range is logarithmic
MOST_CHOICES = 12  # of a column that is taken as categorical
UNSET = "unset"
_NUMBER = re.compile(r"(?:(\w+)=)?(\d+)")


@dataclass(frozen=True)
class Knobs:
    """The parameters of a system, and configurations as numbers for a forest.

    Args:
        space: The search space.
        forms: For each split column, the parameters that each form of its texts has.
    """

    space: Space
    forms: Mapping[str, Mapping[str, tuple[str, ...]]]

    def features(self, point: Point) -> np.ndarray:
        """Coordinates of a point; -1 for parameters that the form of their column has not."""
        coordinates = self.space.encode(point)
        for column, forms in self.forms.items():
            absent = self._columns[column] - set(forms[str(point[column])])
            for name in absent:
                coordinates[self._first[name]] = -1.0
        return coordinates

    @cached_property
    def _first(self) -> dict[str, int]:
        starts = np.cumsum([0, *(each.width for each in self.space.parameters)])
        names = (each.name for each in self.space.parameters)
        return {name: int(start) for name, start in zip(names, starts[:-1], strict=True)}

    @cached_property
    def _columns(self) -> dict[str, set[str]]:
        return {
            column: {name for names in forms.values() for name in names}
            for column, forms in self.forms.items()
        }


def infer(configurations: pd.DataFrame) -> tuple[Knobs, list[Point]]:
    """The parameters of a table of configurations, and its rows as points.

    Args:
        configurations: A row for each configuration, a column for each knob.
    """
    parameters: list[Parameter] = []
    columns: dict[str, list[Any]] = {}
    forms: dict[str, dict[str, tuple[str, ...]]] = {}
    for name, column in configurations.items():
        texts = column.astype(object).where(column.notna(), UNSET).map(str)
        if pd.api.types.is_numeric_dtype(column):
            columns[str(name)] = column.tolist()
        elif texts.nunique() <= MOST_CHOICES:
            columns[str(name)] = texts.tolist()
        else:
            split, found = _split(str(name), texts)
            columns |= split
            if len(found) > 1:
                forms[str(name)] = found
    for name, values in columns.items():
        parameters.append(_parameter(name, [value for value in values if value is not None]))
    defaults = [each.decode([0.5] * each.width) for each in parameters]
    points: list[Point] = [
        {
            parameter.name: default if value is None else value
            for parameter, default, value in zip(parameters, defaults, row, strict=True)
        }
        for row in zip(*columns.values(), strict=True)
    ]
    return Knobs(Space(tuple(parameters)), forms), points


def _split(name: str, texts: pd.Series) -> tuple[dict[str, list[Any]], dict[str, tuple[str, ...]]]:
    """Values of the parameters of a column of texts, None where absent, and those of each form."""
    forms: dict[str, tuple[str, ...]] = {}
    rows = []
    for text in texts:
        form = re.sub(r"\d+", "#", text)
        numbers = {
            f"{name}.{label or position}": int(digits)
            for position, (label, digits) in enumerate(_NUMBER.findall(text))
        }
        forms.setdefault(form, tuple(numbers))
        rows.append({name: form, **numbers})
    names = dict.fromkeys(each for row in rows for each in row)
    columns = {each: [row.get(each) for row in rows] for each in names}
    if len(forms) == 1:
        del columns[name]
    return columns, forms


def _parameter(name: str, values: list[Any]) -> Parameter:
    """The parameter whose range is that of the values."""
    if isinstance(values[0], str):
        return Categorical(name, tuple(sorted(set(values))))
    low, high = min(values), max(values)
    log = low > 0 and high / low >= LOG_RATIO
    if isinstance(values[0], int):
        return Integer(name, int(low), int(high), log)
    return Float(name, float(low), float(high), log)

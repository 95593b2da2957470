"""The best configuration as a function of the given variables of a study."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from surefoot.integrations.optuna.predictions import unmeasured_text
from surefoot.parameters import Choice
from surefoot.parameters.parameter import Parameter
from surefoot.parameters.scales import NumberScale
from surefoot.tune.estimate_text import estimate_texts
from surefoot.tune.study.confirm_stage import recommended
from surefoot.tune.study.state import StudyState

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyRecommendation

MOST = 27  # combinations of values
_POSITIONS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the values of a number, on its scale


def best_by_given(state: StudyState) -> list[StudyRecommendation]:
    """The best configuration under several values of each given variable.

    Args:
        state: The study.

    Returns:
        The configurations with the values, predicted, in the order of the values: under all
        combinations where there are few, else under values of each variable at the latest ones of
        the others.

    Raises:
        NotReady: If the study has no measurement.
    """
    belief, along = state.belief, _values(state)
    if _are_crossed(along):
        every = [dict(zip(along, one, strict=True)) for one in itertools.product(*along.values())]
    else:
        each = ({**state.given, name: one} for name, values in along.items() for one in values)
        every = list({tuple(one.values()): one for one in each}.values())  # the latest ones once
    return [recommended(belief, given) for given in every]


def _values(state: StudyState) -> dict[str, list[Any]]:
    """The values of each given variable."""
    named = state.study_file.space.parameters
    return {name: values_along(named[name], _POSITIONS) for name in state.study_file.scheme.given}


def _are_crossed(along: Mapping[str, Sequence[Any]]) -> bool:
    """Whether all combinations of values are few enough to be shown."""
    return math.prod(map(len, along.values())) <= MOST


def by_given_lines(state: StudyState, found: Sequence[StudyRecommendation]) -> list[str]:
    """A table of `best_by_given`, in lines.

    Args:
        state: The study.
        found: Its best configurations.
    """
    units, given = state.study_file.units, state.study_file.scheme.given
    names = [*given, *(name for name in state.study_file.space.parameters if name not in given)]
    titles = [*names, "predicted", "95 % credible interval"]
    rows = []
    for one in found:
        value, low, high = estimate_texts(one.value, one.lower, one.upper)
        cells = [_text(one.params[name]) if name in one.params else "-" for name in names]
        chance = unmeasured_text(one.unmeasured) if one.unmeasured else ""
        feasible = "" if one.feasible else f" ({chance or f'feasible with {one.feasibility:.2g}'})"
        rows.append([*cells, units.of_value(value), f"{low} to {high}{feasible}"])
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [titles, *rows]
    ]
    if not _are_crossed(_values(state)):
        latest = ", ".join(f"{name}={_text(value)}" for name, value in state.given.items())
        lines += ["", f"One at a time; the others as at the latest trial, {latest}."]
    return lines


def values_along(parameter: Parameter, positions: Iterable[float]) -> list[Any]:
    """Values of a parameter: all choices, or special values and numbers of a scale.

    Args:
        parameter: The parameter.
        positions: Where the numbers are on the scale, from 0 to 1.
    """
    if isinstance(parameter, Choice):
        return list(parameter.choices)
    scale, special = NumberScale(parameter), tuple(parameter.special)
    return [*special, *dict.fromkeys(scale.value_near(one, special) for one in positions)]


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

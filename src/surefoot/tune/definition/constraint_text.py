"""Predicted constraints at the recommended configuration, in words and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from surefoot.integrations.optuna.predictions import unmeasured_text
from surefoot.types import Constraint

if TYPE_CHECKING:
    from surefoot.integrations.optuna import PredictedConstraint, StudyRecommendation


def constraint_lines(
    best: StudyRecommendation,
    constraints: Mapping[str, PredictedConstraint],
    together: str = "",
    units: Mapping[str, str] | None = None,
) -> list[str]:
    """A line for each constraint, and whether all hold with the confidence asked for.

    Args:
        best: The recommendation.
        constraints: Its constraints as predicted, by name.
        together: Constraints of which there is only the probability that all of them hold, in
            words.
        units: Units of the constraints by name.
    """
    each = [
        f"  {describe(name, one, (units or {}).get(name))}" for name, one in constraints.items()
    ]
    lines = ["Constraints there:", *each] if each else []
    if best.unmeasured:
        lines.append(
            f"{unmeasured_text(best.unmeasured)}: no configuration is known that satisfies all "
            "constraints."
        )
    elif not best.feasible:
        lines.append(
            "No configuration is known that satisfies all constraints with the confidence asked "
            "for; this one, of those measured, comes nearest: they hold with probability "
            f"{probability_text(best.feasibility)}."
        )
    if together and (best.feasible or best.unmeasured):
        lines.append(f"{together} hold with probability {probability_text(best.feasibility)}.")
    return lines


def describe(name: str, one: PredictedConstraint, unit: str | None = None) -> str:
    """A constraint in words: its limit, its prediction and its probability."""
    interval = f"{one.value:.5g} ({one.lower:.5g} to {one.upper:.5g})"
    text = (
        f"{name}, {limit_words(one.limit, unit)}: {_in_unit(interval, unit)}, "
        f"holds with probability {probability_text(one.probability)}"
    )
    if math.isnan(one.contrary):
        return text
    return (
        f"{text}; measured {one.contrary:.5g}, where the other measurements predict "
        f"{one.value:.5g}: measure it again"
    )


def limit_words(limit: Constraint, unit: str | None = None) -> str:
    """A limit of a study file in words."""
    words = f"at most {limit.maximum:g}" if limit.minimum is None else f"at least {limit.minimum:g}"
    return _in_unit(words, unit)


def _in_unit(text: str, unit: str | None) -> str:
    return f"{text} {unit}" if unit else text


def beyond_text(
    values: Mapping[str, float], limits: Mapping[str, Constraint], units: Mapping[str, str]
) -> str:
    """Measured values that are beyond their limits, as the end of a sentence; empty if none is."""
    beyond = [
        _in_unit(f"{name} {value:.5g}", units.get(name))
        for name, value in values.items()
        if name in limits and limits[name].excess(value) > 0.0
    ]
    return f", beyond its limit: {', '.join(beyond)}" if beyond else ""


def probability_text(probability: float) -> str:
    """A probability that is never rounded to 0 or 1."""
    if probability < 0.001:
        return "below 0.001"
    return "above 0.999" if probability > 0.999 else f"{probability:.3f}"


def constraints_as_json(constraints: Mapping[str, PredictedConstraint]) -> dict[str, Any]:
    """The constraints as JSON values."""
    return {
        name: {
            "max": one.limit.maximum,
            "min": one.limit.minimum,
            "confidence": one.limit.confidence,
            "value": one.value,
            "lower": one.lower,
            "upper": one.upper,
            "probability": one.probability,
        }
        for name, one in constraints.items()
    }

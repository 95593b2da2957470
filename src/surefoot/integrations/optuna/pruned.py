"""Values that pruned trials would have had, from what they reported."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from optuna.trial import FrozenTrial

_OF_GAUSSIAN = 1.4826  # standard deviations in a median absolute deviation
_FEW = 3  # differences, of which no spread is known


class PredictedValue(NamedTuple):
    """A value that was not measured, and its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class Curve:
    """Reports of a trial by step, and its value.

    Args:
        reports: Finite reports by step.
        value: The value; NaN for that of a pruned trial.
        branch: Names of its parameters, where these are conditional.
    """

    reports: Mapping[int, float]
    value: float = math.nan
    branch: frozenset[str] = frozenset()

    @property
    def steps(self) -> list[int]:
        """Steps of the reports, the latest first."""
        return sorted(self.reports, reverse=True)

    @classmethod
    def of(cls, trial: FrozenTrial, log: bool) -> Curve:
        """The curve of a finished trial, of logarithms where these are modelled."""
        known = {step: one for step, one in trial.intermediate_values.items() if math.isfinite(one)}
        value = trial.value if trial.state.name == "COMPLETE" else None
        if log:
            known = {step: math.log(one) for step, one in known.items() if one > 0.0}
            value = None if value is None else math.log(value)
        return cls(known, math.nan if value is None else value, frozenset(trial.params))


def predicted_value(pruned: Curve, others: Sequence[Curve], sign: float) -> PredictedValue | None:
    """Value that a pruned trial would have had.

    That is its last report, and what the values of the other trials differ from their reports at
    that step: of those with the same parameters if there are any, since branches of a conditional
    space may begin differently. It is not better than the best of them.

    Args:
        pruned: The pruned trial.
        others: Trials with values.
        sign: 1 if larger values are better, else -1.

    Returns:
        The value and its standard error; None where it has no report that any other trial has.
    """
    alike = [one for one in others if one.branch == pruned.branch]
    reported = [(group, step) for group in (alike, others) for step in pruned.steps]
    for group, step in reported:
        gains = [one.value - one.reports[step] for one in group if step in one.reports]
        if gains:
            gain = float(np.median(gains))
            error = _OF_GAUSSIAN * float(np.median(np.abs(np.array(gains) - gain)))
            if len(gains) < _FEW:
                error = max(error, abs(gain))
            best = max(sign * one.value for one in others)
            value = min(sign * (pruned.reports[step] + gain), best)
            return PredictedValue(sign * value, error)
    return None

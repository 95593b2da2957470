"""Values that pruned trials would have had, from what they reported."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from optuna.trial import FrozenTrial

from surefoot._internal.numbers import FEWEST, MAD_TO_SD


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
    space may begin differently. It is not better than what half of those became that were no worse
    at that step, or than the best of all where it was better than they.

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
        known = [one for one in group if step in one.reports]
        if known:
            shown, gains = pruned.reports[step], _gains(known, step)
            gain = float(np.median(gains))
            better = [
                sign * one.value for one in known if sign * (one.reports[step] - shown) >= 0.0
            ]
            most = float(np.median(better)) if better else max(sign * one.value for one in others)
            branches = {one.branch for one in others} if group is alike else ()
            parts = [_gains([o for o in others if o.branch == one], step) for one in branches]
            error = _spread(parts or [gains], abs(gain)) * math.sqrt(1.0 + 1.0 / len(gains))
            return PredictedValue(sign * min(sign * (shown + gain), most), error)
    return None


def _gains(curves: Sequence[Curve], step: int) -> list[float]:
    """What values of trials differ from their reports at a step, of those that have one."""
    return [one.value - one.reports[step] for one in curves if step in one.reports]


def _spread(parts: Sequence[Sequence[float]], unknown: float) -> float:
    """Standard deviation of numbers about the median of their part.

    It is at least `unknown` where they are too few to tell.
    """
    several = [part for part in parts if len(part) > 1]
    off = [abs(one - float(np.median(part))) for part in several for one in part]
    left = len(off) - len(several)
    spread = MAD_TO_SD * float(np.median(off)) * math.sqrt(len(off) / left) if off else 0.0
    return spread if left >= FEWEST - 1 else max(spread, unknown)

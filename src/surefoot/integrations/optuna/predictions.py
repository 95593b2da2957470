"""Predictions of the model of a study, as values in its units; they load no torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from surefoot._internal.html import as_html, value_text
from surefoot.types import Constraint


@dataclass(frozen=True)
class StudyRecommendation:
    """Recommended configuration, in the units and direction of the study.

    Args:
        params: Values by parameter name.
        value: Predicted value: the posterior mean of the estimand, or the posterior median where
            values are transformed; in a study with an environment the predicted risk.
        lower: Lower end of its 95 % credible interval; of a risk, the risk of the lower ends.
        upper: Upper end.
        feasibility: Probability that all constraints with a measurement hold, 1 without any.
        feasible: Whether they hold with the confidence asked for, and `unmeasured` is empty.
        estimand: What is predicted of measurements: their "location", "median" or "mean".
        unmeasured: Declared constraints that have no measurement yet.
    """

    params: dict[str, Any]
    value: float
    lower: float
    upper: float
    feasibility: float = 1.0
    feasible: bool = True
    estimand: str = "location"
    unmeasured: tuple[str, ...] = ()

    @property
    def rows(self) -> dict[str, Any]:
        """Rows of a table about the recommendation, by name."""
        value = "value" if self.estimand == "location" else self.estimand
        return {
            "configuration": self.params,
            f"predicted {value}": value_text(self.value, self.lower, self.upper),
            "constraints hold": "" if self.feasibility == 1.0 else f"{self.feasibility:.0%}",
            "not measured yet": ", ".join(self.unmeasured),
        }

    def _repr_html_(self) -> str:
        return as_html("Recommendation", self.rows)


def unmeasured_text(names: Sequence[str]) -> str:
    """Part of a sentence: quantities have no measurement yet.

    Args:
        names: Their names, at least one.
    """
    return f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'} no measurement yet"


@dataclass(frozen=True)
class PredictedConstraint:
    """A constraint at one configuration, in its own units.

    Args:
        limit: The constraint.
        value: Predicted value without noise.
        lower: Lower end of its 95 % credible interval.
        upper: Upper end.
        probability: Probability that the constraint holds.
        contrary: Mean of the measurements there that contradict the others, of which the interval
            and the probability are, too; NaN where none do.
    """

    limit: Constraint
    value: float
    lower: float
    upper: float
    probability: float
    contrary: float = math.nan


class StudyDrift(NamedTuple):
    """One configuration at the times of the trials, in the units of the study.

    Args:
        trials: Numbers of the trials, in order of their time.
        mean: Predicted values (n,) at their times, without noise and for the average worker.
        lower: Lower ends (n,) of 95 % credible intervals of what the drift has changed.
        upper: Upper ends (n,).
    """

    trials: list[int]
    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


class OverEnvironment(NamedTuple):
    """Predictions for one configuration over its environment, in the units of the study.

    Args:
        values: Environments (n, dz).
        mean: Predicted values (n,), without noise.
        lower: Lower ends (n,) of their 95 % credible intervals.
        upper: Upper ends (n,).
        weights: Probabilities (n,) of the environments, which sum to 1.
    """

    values: np.ndarray
    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    weights: np.ndarray

"""How results are recommended and reported."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot._internal import checks
from surefoot._internal.estimands import ESTIMANDS, Estimand
from surefoot.acquisition.recommendation import By, check_by
from surefoot.beliefs.intervals import CONFIDENCE_BOUNDS, Interval


@dataclass(frozen=True)
class Reporting:
    """Rule of the recommendation, and what is reported of the recommended point.

    Args:
        by: Default of `Optimizer.recommend(by=...)`: "mean", "lower", "rounds", "cross-validated",
            or a function of a belief and a generator that returns a score.
        interval: Rule for the intervals, `ConfidenceBounds()` or `Credible(level)`.
        estimand: What is reported of the rewards at a point. "location" is the value of the
            function that the estimator fits, which is the mean of the rewards for an unbiased one
            such as `LeastSquares()`. "median" and "mean" are those of the rewards, estimated from
            the residuals. Which point is recommended does not depend on it.

    Raises:
        InvalidInput: If an argument is none of these.

    Example:
        >>> import surefoot as sf
        >>> reporting = sf.acquisition.Reporting(interval=sf.acquisition.Credible(0.9))
    """

    by: By = "mean"
    interval: Interval = CONFIDENCE_BOUNDS
    estimand: Estimand = "location"

    def __post_init__(self) -> None:
        check_by("by", self.by)
        checks.rule("interval", self.interval, "acquisition.Credible(0.95)")
        checks.choice("estimand", self.estimand, *ESTIMANDS)

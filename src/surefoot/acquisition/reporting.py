"""How results are recommended, and the intervals that are reported."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot._internal import checks
from surefoot.acquisition.recommendation import By, check_by
from surefoot.beliefs.intervals import CONFIDENCE_BOUNDS, Interval


@dataclass(frozen=True)
class Reporting:
    """Rule of the recommendation, and the interval of what is recommended.

    Args:
        by: Default of `Optimizer.recommend(by=...)`: "mean", "lower", "rounds", "cross-validated",
            or a function of a belief and a generator that returns a score.
        interval: Rule for the intervals, `ConfidenceBounds()` or `Credible(level)`.

    Raises:
        InvalidInput: If an argument is none of these.

    Example:
        >>> import surefoot as sf
        >>> reporting = sf.acquisition.Reporting(interval=sf.acquisition.Credible(0.9))
    """

    by: By = "mean"
    interval: Interval = CONFIDENCE_BOUNDS

    def __post_init__(self) -> None:
        check_by("by", self.by)
        checks.rule("interval", self.interval, "acquisition.Credible(0.95)")

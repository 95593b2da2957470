"""Intervals that are reported: an algorithm's own confidence bounds, or credible intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from surefoot._internal import checks
from surefoot.beliefs.band import Band
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from surefoot.beliefs.outcome import OutcomeBelief


class Interval(Protocol):
    """Rule for the ends of reported intervals."""

    def __call__(self, outcome: OutcomeBelief, band: Band) -> Band:
        """The band whose bounds are the ends of the intervals.

        Args:
            outcome: The belief of the outcome.
            band: Its band by which the search goes.
        """


@dataclass(frozen=True)
class ConfidenceBounds:
    """The bounds that the algorithm itself relies on, mean +- width * deviation.

    With the width of a theorem they hold for all points and rounds at once.

    Example:
        >>> import surefoot as sf
        >>> interval = sf.acquisition.ConfidenceBounds()
    """

    def __call__(self, outcome: OutcomeBelief, band: Band) -> Band:
        """The band itself."""
        return band


@dataclass(frozen=True)
class Credible:
    """Central credible intervals of a single value, whatever the width that steers the search.

    The posterior is integrated over what is not known of fitted hyperparameters, of which there are
    few samples from an approximation with light tails: the ends are quantiles of Student's t, with
    as many degrees of freedom as there are more rewards than hyperparameters, and at least 3.

    Args:
        level: Probability of the interval.

    Raises:
        InvalidInput: If the level is not between 0 and 1.

    Example:
        >>> import surefoot as sf
        >>> interval = sf.acquisition.Credible(0.9)
    """

    level: float = 0.95

    def __post_init__(self) -> None:
        if not 0.0 < checks.positive("level", self.level) < 1.0:
            raise InvalidInput(f"`level` is {self.level!r}, expected a number between 0 and 1.")

    def __call__(self, outcome: OutcomeBelief, band: Band) -> Band:
        """The band whose bounds are the ends of the intervals."""
        width = self.width(outcome)
        return Band(band.posterior, width, uncertainty=outcome.uncertainty, pulls=band.pulls)

    def width(self, outcome: OutcomeBelief) -> float:
        """Deviations from the middle of an interval to its ends."""
        from scipy import special

        return float(
            special.stdtrit(outcome.uncertainty.degrees_of_freedom, 0.5 + 0.5 * self.level)
        )


CONFIDENCE_BOUNDS = ConfidenceBounds()

"""Intervals that are reported: an algorithm's own confidence bounds, or credible intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.acquisition.context import Context
from surefoot.hyperparameters import Uncertainty
from surefoot.regression.posterior import Posterior
from surefoot.types import InvalidInput


class Interval(Protocol):
    """What the ends of the intervals of `recommend` and `assess` are."""

    def __call__(self, context: Context) -> Context:
        """The context whose bounds are those to report."""
        ...


@dataclass(frozen=True)
class ConfidenceBounds:
    """The bounds that the algorithm itself relies on, mean +- width * deviation.

    With the width of a theorem they hold for all points and rounds at once.

    Example:
        >>> import surefoot as sf
        >>> interval = sf.acquisition.ConfidenceBounds()
    """

    def __call__(self, context: Context) -> Context:
        """The context itself."""
        return context


@dataclass(frozen=True)
class Credible:
    """Central credible intervals of a single value, whatever the width that steers the search.

    The posterior is integrated over what is not known of fitted hyperparameters.

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

    def __call__(self, context: Context) -> Context:
        """The context whose bounds are the ends of the intervals."""
        tail = torch.tensor(0.5 + 0.5 * self.level, dtype=torch.float64)
        posterior = Integrated(context.posterior, context.hyperparameter_uncertainty)
        return replace(context, width=float(torch.special.ndtri(tail)), posterior=posterior)


@dataclass(frozen=True, eq=False)
class Integrated:
    """A posterior with corrected moments at each point; its covariances are those of before.

    Args:
        base: The posterior.
        uncertainty: What is not known of its hyperparameters.
    """

    base: Posterior
    uncertainty: Uncertainty

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "base":  # asked for while it is copied
            raise AttributeError(name)
        return getattr(self.base, name)

    def tabulates(self, points: Tensor) -> bool:
        """Whether mean and deviation are looked up: no, the correction is not."""
        return False

    def mean(self, points: Tensor) -> Tensor:
        """Mean (n,) at points (n, d)."""
        return self.mean_and_deviation(points)[0]

    def variance(self, points: Tensor) -> Tensor:
        """Variance (n,) at points (n, d)."""
        return self.mean_and_deviation(points)[1].square()

    def mean_and_deviation(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mean (n,) and standard deviation (n,) at points (n, d)."""
        mean, deviation = self.base.mean_and_deviation(points)
        more = self.uncertainty(points)
        return mean + more.mean, (deviation.square() + more.variance).sqrt()

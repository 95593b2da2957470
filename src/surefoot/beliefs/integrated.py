"""A posterior whose moments are integrated over the hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from surefoot.hyperparameters import Uncertainty
from surefoot.regression.posterior import Posterior

_TINY = 1e-300  # deviation, for a prior without one


@dataclass(frozen=True, eq=False)
class Integrated:
    """A posterior with corrected moments at each point; its covariances are those of before.

    Pulls without rewards lower its deviation by the same factor as before.

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
        return self.base.mean(points) + self.uncertainty.mean(points)

    def variance(self, points: Tensor) -> Tensor:
        """Variance (n,) at points (n, d)."""
        return self.mean_and_deviation(points)[1].square()

    def mean_and_deviation(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mean (n,) and standard deviation (n,) at points (n, d)."""
        mean, deviation = self.base.mean_and_deviation(points)
        more, rewarded = self.uncertainty(points), self.base.of_rewards
        if rewarded is self.base:
            return mean + more.mean, (deviation.square() + more.variance).sqrt()
        before = rewarded.mean_and_deviation(points)[1]
        left = deviation / before.clamp_min(_TINY)
        return mean + more.mean, left * (before.square() + more.variance).sqrt()

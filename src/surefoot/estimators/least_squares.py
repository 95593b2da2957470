"""Ridge regression: every reward at full weight."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from surefoot.estimators.estimator import Estimate, Measured
from surefoot.regression.ridge import RidgeFactor


@dataclass(frozen=True)
class LeastSquares:
    """theta = V^{-1} Phi'y, from the sums at each site: its cost does not grow with t."""

    def __call__(
        self, factor: RidgeFactor, sample: Measured, start: Tensor | None = None
    ) -> Estimate:
        return Estimate(factor.solve(sample.moments), factor)

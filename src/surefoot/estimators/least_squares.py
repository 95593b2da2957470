"""Ridge regression: every reward at full weight."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.estimators.estimator import Constants
from surefoot.regression.regression import Estimate
from surefoot.regression.sample import Sample


@dataclass(frozen=True)
class LeastSquares:
    """theta = V^{-1} Phi'y, from the sums at each site: its cost does not grow with t.

    A reward with a standard error has the weight ridge / (ridge + sem^2), as in Gaussian process
    regression with noise variances ridge + sem^2. With such rewards the cost is linear in t.

    Example:
        >>> import surefoot as sf
        >>> kernel = sf.kernels.squared_exponential(0.2)
        >>> method = sf.Method(kernel, estimator=sf.LeastSquares())
        >>> optimizer = sf.Optimizer(sf.Box([0.0], [1.0]), method)
    """

    def init(self, constants: Constants) -> tuple[()]:
        """The state before the first reward."""
        return ()

    def update(self, state: tuple[()], site: int, reward: float) -> tuple[()]:
        """The state after one more reward at a site."""
        return state

    def update_with_error(
        self, state: tuple[()], site: int, reward: float, sem: float
    ) -> tuple[()]:
        """The state after one more reward with a standard error."""
        return state

    def estimate(self, state: tuple[()], sample: Sample) -> tuple[Estimate, tuple[()]]:
        """The estimate from all rewards, and the next state."""
        counts = sample.weighted_counts
        theta = sample.factor_of(counts).solve(sample.moments(sample.weighted_sums))
        return Estimate(theta, counts), state

"""Protocol of estimators, and what they know of a run before its rewards."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, TypeVar

from torch import Tensor

from surefoot._internal.tensors import NO_VALUES
from surefoot.regression.regression import Estimate
from surefoot.regression.sample import Sample

State = TypeVar("State")


@dataclass(frozen=True, eq=False)
class Constants:
    """Constants of a run that are known before its rewards.

    Args:
        ridge: Regularisation, the noise variance in the units of the model.
        prior_variance: The largest k(x, x).
        dimension: The largest number of features that there can be.
        dof: Fitted degrees of freedom of Student-t noise; infinite where none were fitted.
        weights: Fitted precisions (k,) of the first rewards; empty where none were fitted.
    """

    ridge: float
    prior_variance: float = 1.0
    dimension: int = 2**20
    dof: float = math.inf
    weights: Tensor = NO_VALUES


class Estimator(Protocol[State]):
    """Turns rewards into the coefficients theta of mu(x) = phi(x)'theta.

    A state is what the estimator keeps of the rewards: a dataclass of arrays and numbers, which is
    saved with a run. A method `weights(estimate, sample)` may give the weight in [0, 1] of each
    reward (t,). A method `update_with_error(state, site, reward, sem)` takes in a reward with a
    standard error above 0; without it, such rewards are refused. The errors are also in
    `sample.error_variances`. An estimator of your own is any object with the three methods below.

    Example:
        Least squares on the sum of the rewards at each site:

        >>> import surefoot as sf
        >>> class Ridge:
        ...     def init(self, constants):
        ...         return ()
        ...     def update(self, state, site, reward):
        ...         return state
        ...     def estimate(self, state, sample):
        ...         theta = sample.factor.solve(sample.features.T @ sample.sums)
        ...         return sf.estimators.Estimate(theta, sample.counts), state
        >>> arms, kernel = sf.Arms([[0.0], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.Optimizer(arms, sf.Method(kernel, estimator=Ridge()))
        >>> _ = optimizer.tell(0, 1.0)
        >>> round(optimizer.recommend().value, 3)
        0.5
    """

    def init(self, constants: Constants) -> State:
        """The state before the first reward.

        Args:
            constants: What is known of a run before its rewards.

        Returns:
            The state.
        """

    def update(self, state: State, site: int, reward: float) -> State:
        """The state after one more reward.

        Args:
            state: The state before, which may be changed in place.
            site: Index of the site, that is of the distinct point that was measured.
            reward: The reward, in its own units.

        Returns:
            The state after.
        """

    def estimate(self, state: State, sample: Sample) -> tuple[Estimate, State]:
        """The estimate from all rewards.

        Args:
            state: The state after the last reward.
            sample: Features of the sites, the factor of the pulls, and the rewards.

        Returns:
            The estimate, and the state that the next estimate starts from.
        """

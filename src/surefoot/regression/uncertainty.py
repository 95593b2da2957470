"""Uncertainty of the hyperparameters of a posterior."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from surefoot.regression.cross_validation import NOT_VALIDATED, CrossValidation
from surefoot.regression.observations import Pull
from surefoot.regression.posterior import Posterior, Predictive


class Uncertainty(Protocol):
    """Uncertainty of the hyperparameters, over which a posterior is integrated."""

    def over(self, posterior: Posterior, pulls: Sequence[Pull] = ()) -> Predictive:
        """A posterior at the most likely hyperparameters, integrated over them.

        Args:
            posterior: The posterior.
            pulls: Pulls without rewards that it is conditioned on.
        """

    @property
    def degrees_of_freedom(self) -> float:
        """Degrees of freedom of the Student-t law of an error; infinite for a normal one."""

    @property
    def smooth(self) -> Uncertainty:
        """The same for the function itself, without microscale variation at single points."""

    def cross_validation(self) -> CrossValidation:
        """How well the most likely hyperparameters predict each reward from the others."""

    def bias_near(self, points: Tensor) -> Tensor:
        """How much larger rewards near points (n, d) are than so predicted, in standard errors."""


@dataclass(frozen=True)
class Certain:
    """Hyperparameters that are known, or taken as known."""

    def over(self, posterior: Posterior, pulls: Sequence[Pull] = ()) -> Predictive:
        """The posterior itself."""
        return posterior

    @property
    def degrees_of_freedom(self) -> float:
        """Infinite: nothing was fitted."""
        return math.inf

    @property
    def smooth(self) -> Certain:
        """The same."""
        return self

    def cross_validation(self) -> CrossValidation:
        """None: what is taken as known is not doubted."""
        return NOT_VALIDATED

    def bias_near(self, points: Tensor) -> Tensor:
        """0, as (n,)."""
        return NOT_VALIDATED.bias_near(points)


CERTAIN_HYPERPARAMETERS = Certain()
"""Nothing to integrate over."""

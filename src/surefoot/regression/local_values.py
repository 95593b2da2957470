"""Variance of all arms in this process."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from surefoot.regression.arm_posterior import ArmPosterior
from surefoot.regression.arm_values import MOST_STEPS, Steps, extended
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.units import RewardUnits

if TYPE_CHECKING:
    from surefoot.regression.table import Table


@dataclass(eq=False)
class LocalStart:
    """Variance of the arms at some time.

    Args:
        variance: The variance (A,).
    """

    variance: Tensor

    @cached_property
    def _listed(self) -> np.ndarray:
        return self.variance.cpu().numpy()  # quick to look up

    def at(self, arms: Tensor) -> Tensor:
        """Variance of several arms, in main memory."""
        return self.variance[arms.to(self.variance.device)].cpu()

    def of(self, arm: int) -> float:
        """Variance of an arm."""
        return float(self._listed[arm])

    def within(self, table: Table) -> LocalStart:
        """Itself: it needs no table."""
        return self


@dataclass(eq=False)
class LocalValues:
    """Variance of all arms, on their device.

    Args:
        table: The features of all arms.
        variance: The variance (A,), as of the last posterior.
        steps: Rank-one updates since then.
    """

    table: Table = field(metadata={"saved": False})
    variance: Tensor
    steps: Steps = field(default_factory=list)

    @property
    def is_crowded(self) -> bool:
        """Whether so many updates wait that the variance should be found from the factor."""
        return len(self.steps) > MOST_STEPS

    def fall(self, solved: Tensor, drop: float) -> None:
        """Lower the variance by a step, when the next posterior is asked for."""
        self.steps.append((solved.to(self.variance.device), drop))

    def extend(self, table: Table) -> None:
        """Go on in a table with one more feature."""
        self.table, self.steps = table, extended(self.steps)

    def refresh(self, factor: RidgeFactor) -> None:
        """Find the variance from a factor, without what rounding has added up."""
        self.variance = self.table.variance(factor)
        self.steps.clear()

    def at(self, arms: int | Tensor) -> Tensor:
        """Variance of an arm, or (n,) of several."""
        return self.variance[arms]

    def start(self) -> LocalStart:
        """Variance as of the last posterior, to look up."""
        return LocalStart(self.variance)

    def posterior(
        self, factor: RidgeFactor, coefficients: Tensor, units: RewardUnits, *, is_own: bool
    ) -> ArmPosterior:
        """The posterior of coefficients (m,)."""
        theta = coefficients.to(self.table.prior.device)
        mean = self._products(theta)
        variance = self.variance if is_own else self.table.variance(factor)
        if not units.is_identity:
            mean = units.center + units.scale * mean
        return ArmPosterior(
            factor, theta, units.center, units.scale, mean, variance, factor, self.table
        )

    def _products(self, coefficients: Tensor) -> Tensor:
        """Phi theta (A,) for coefficients (m,), bringing the variance up to date.

        Both in one reading of Phi, which is what a round on many arms costs.
        """
        directions = [solved for solved, _ in self.steps]
        drops = coefficients.new_tensor([drop for _, drop in self.steps])
        product, falls = self.table.moved(coefficients, directions, drops)
        self.variance = self.variance - falls
        self.steps.clear()
        return product

"""Ridge regression on arms in features that last, by rank-one updates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from surefoot.regression.arm_posterior import ArmPosterior
from surefoot.regression.observations import Observations, Pull
from surefoot.regression.posterior import Posterior
from surefoot.regression.regression import Estimate
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.sample import Sample
from surefoot.regression.table import Table
from surefoot.regression.units import RewardUnits

_REFRESH = 512  # pulls between factorisations from the counts
_CHECK = 32  # pulls between looks at whether rounding has moved a variance
_DRIFT = 1e-8  # of a variance, at which one comes sooner
_LARGEST_STEP = 1e4  # growth of V in one direction, after which V^{-1} has lost digits
_CACHED = 2**16  # numbers in a table that is read twice as fast as two columns are put together
_MOST_STEPS = 64  # rank-one updates that are taken together


@dataclass(eq=False)
class Tabulated:
    """V and the variance of all arms, at a cost a round that does not depend on the round.

    What is of the size of the features or of the sites lies in main memory, what is of the size of
    the arms on their device.

    Args:
        table: The features of all arms.
        ridge: Regularisation.
        pulls: Rewarded pulls by arm, in order of the first.
        version: A number that changes with the features.
    """

    table: Table = field(metadata={"saved": False})
    ridge: float
    pulls: dict[int, float] = field(default_factory=dict)
    version: int = 0
    factor: RidgeFactor = field(init=False)
    variance: Tensor = field(init=False)  # (A,), as of the last posterior
    _steps: list[tuple[Tensor, float]] = field(default_factory=list)  # since then
    _number: int = 0
    _sites: tuple[Tensor, Tensor, Tensor] | None = field(default=None, metadata={"saved": False})

    batched = False
    is_due = False

    @property
    def max_dimension(self) -> int:
        """The number of features."""
        return self.table.dimension

    def __post_init__(self) -> None:
        if self.pulls:
            self._number = round(sum(self.pulls.values()))
            self._refresh()
        else:
            self.factor = RidgeFactor.of(
                torch.zeros(0, self.table.dimension, dtype=torch.float64), self.ridge
            )
            self.variance = self.table.prior

    def update(self, pull: Pull) -> None:
        arm: int = pull.arm  # type: ignore[assignment]
        self.pulls[arm] = self.pulls.get(arm, 0.0) + pull.times
        step = self.factor.updated(self.table.at(arm).cpu(), float(pull.times))
        self.factor = step.factor
        self._steps.append((step.solved, step.drop(self.ridge)))
        before, self._number = self._number, self._number + pull.times
        crowded = before // _REFRESH != self._number // _REFRESH or len(self._steps) > _MOST_STEPS
        if crowded or step.growth > _LARGEST_STEP:
            self._refresh()

    def extend(self, table: Table) -> None:
        """Go on in a table with one more feature, in which no pull so far has a part."""
        self.table, self._sites, self.version = table, None, self.version + 1
        self.factor = self.factor.extended
        self._steps = [(torch.cat([solved, solved.new_zeros(1)]), d) for solved, d in self._steps]

    def redrawn(self, observations: Observations, generator: torch.Generator) -> Tabulated:
        """Itself: the features stay."""
        return self

    def current(self, observations: Observations) -> Tabulated:
        return self

    def with_pulls(self, pulls: dict[int, float]) -> Tabulated:
        """The same features with other pulls."""
        return Tabulated(self.table, self.ridge, pulls, self.version)

    def with_ridge(self, ridge: float) -> Tabulated:
        """The same features and pulls with another regularisation."""
        return Tabulated(self.table, ridge, dict(self.pulls), self.version)

    def sample(self, observations: Observations, units: RewardUnits) -> Sample:
        _, features, residual = self._at_sites(observations.arms)
        return Sample(
            self.factor,
            features,
            residual,
            self.version,
            partial(self._leverage_bound, observations.arms),
            observations,
            units,
        )

    def posterior(self, sample: Sample, estimate: Estimate) -> ArmPosterior:
        units = estimate.prior_units(sample.units)
        coefficients = estimate.coefficients.to(self.table.prior.device)
        mean = self._products(coefficients)
        factor = sample.factor_of(estimate.counts)
        on_device = factor.to(mean.device)
        variance = self.variance if factor is self.factor else self.table.variance(on_device)
        if not units.is_identity:
            mean = units.center + units.scale * mean
        return ArmPosterior(
            on_device,
            coefficients,
            units.center,
            units.scale,
            mean,
            variance,
            on_device,
            self.table,
        )

    def kept(self, posterior: Posterior | None, sample: Sample, estimate: Estimate) -> ArmPosterior:
        if posterior is None:
            return self.posterior(sample, estimate)
        return replace(posterior, table=self.table)  # type: ignore[type-var, return-value]

    def _refresh(self) -> None:
        """V and the variance from the counts, without what rounding has added up."""
        features = self._at_sites([*self.pulls])[1]
        counts = torch.tensor(list(self.pulls.values()), dtype=features.dtype)
        self.factor = RidgeFactor.of(features, self.ridge, counts)
        self.variance = self.table.variance(self.factor.to(self.table.prior.device))
        self._steps.clear()

    def _products(self, coefficients: Tensor) -> Tensor:
        """Phi theta (A,) for coefficients (m,), bringing the variance up to date.

        Both in one reading of Phi, which is what a round on many arms costs.
        """
        if len(self._steps) <= 1 and self.table.size <= _CACHED:
            for solved, drop in self._steps:
                self._fall(self.table.product(solved), drop)
            product = self.table.product(coefficients)
        else:
            directions = [solved.to(coefficients.device) for solved, _ in self._steps]
            drops = coefficients.new_tensor([drop for _, drop in self._steps])
            product, falls = self.table.moved(coefficients, directions, drops)
            self.variance = self.variance - falls
        self._steps.clear()
        if self._number % _CHECK == 0:
            self._refresh_if_drifted()
        return product

    def _fall(self, product: Tensor, drop: float) -> None:
        """Subtract a step from the variance, given Phi times its direction (A,)."""
        self.variance = self.variance.addcmul(product, product, value=-drop)

    def _refresh_if_drifted(self) -> None:
        arm = next(reversed(self.pulls), None)
        if arm is None:
            return
        feature, fresh = self.table.at(arm).cpu(), RidgeFactor(self.ridge, self.factor.gram)
        residual = float(self.table.prior[arm]) - float(feature.square().sum())
        exact = max(residual, 0.0) + self.ridge * float(fresh.leverage(feature.unsqueeze(0)))
        if abs(exact - float(self.variance[arm])) > _DRIFT * float(self.table.prior[arm]):
            self._refresh()

    def _leverage_bound(self, arms: list[int], sites: np.ndarray) -> np.ndarray:  # (k,) -> (k,)
        """At least phi' V^{-1} phi at sites."""
        chosen = self._at_sites(arms)[0].cpu().numpy()[sites]
        variance = self.variance.cpu().numpy()[chosen]
        return np.maximum(variance, 0.0) / self.ridge

    def _at_sites(self, arms: list[int]) -> tuple[Tensor, Tensor, Tensor]:
        """Arms, features and residual of the sites, in main memory but for the arms."""
        if self._sites is None or len(self._sites[0]) != len(arms):
            index = torch.tensor(arms, dtype=torch.int64, device=self.table.prior.device)
            features = self.table.at(index).cpu()
            residual = self.table.prior[index].cpu() - features.square().sum(-1)
            self._sites = index, features, residual.clamp_min_(0.0)
        return self._sites

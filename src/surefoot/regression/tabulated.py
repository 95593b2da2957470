"""Ridge regression on arms in features that last, by rank-one updates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from surefoot.regression.arm_values import ArmTable, ArmValues, TabulatedPosterior
from surefoot.regression.observations import Observations, Pull
from surefoot.regression.posterior import Posterior
from surefoot.regression.regression import Estimate
from surefoot.regression.ridge import LARGEST_STEP, REFRESH, RidgeFactor
from surefoot.regression.sample import Sample
from surefoot.regression.units import RewardUnits

_CHECK = 32  # pulls between looks at whether rounding has moved a variance
_DRIFT = 1e-8  # of a variance, at which one comes sooner


@dataclass(eq=False)
class Tabulated:
    """V and the variance of all arms, at a cost a round that does not depend on the round.

    What is of the size of the features or of the sites lies in main memory, what is of the size of
    the arms on their device.

    Args:
        values: Variance of all arms in a table of their features.
        ridge: Regularisation.
        pulls: Rewarded pulls by arm, in order of the first.
        version: A number that changes with the features.
    """

    values: ArmValues
    ridge: float
    pulls: dict[int, float] = field(default_factory=dict)
    version: int = 0
    factor: RidgeFactor = field(init=False)
    _number: int = 0
    _sites: tuple[Tensor, Tensor, Tensor] | None = field(default=None, metadata={"saved": False})

    batched = False
    is_due = False

    @classmethod
    def of(cls, table: ArmTable, ridge: float) -> Tabulated:
        """Before the first pull."""
        return cls(table.values(), ridge)

    @property
    def table(self) -> ArmTable:
        """The features of all arms."""
        return self.values.table

    @table.setter
    def table(self, table: ArmTable) -> None:
        self.values.table = table

    @property
    def max_dimension(self) -> int:
        """The number of features."""
        return self.table.dimension

    def __post_init__(self) -> None:
        if self.pulls:
            self._number = round(sum(self.pulls.values()))
            self.refresh()
        else:
            none = torch.zeros(0, self.table.dimension, dtype=torch.float64)
            self.factor = RidgeFactor.of(none, self.ridge)

    def update(self, pull: Pull) -> None:
        arm: int = pull.arm  # type: ignore[assignment]
        self.pulls[arm] = self.pulls.get(arm, 0.0) + pull.times
        step = self.factor.updated(self.table.at(arm).cpu(), float(pull.times))
        self.factor = step.factor
        self.values.fall(step.solved, step.drop(self.ridge))
        before, self._number = self._number, self._number + pull.times
        crowded = before // REFRESH != self._number // REFRESH or self.values.is_crowded
        if crowded or step.growth > LARGEST_STEP:
            self.refresh()

    def extend(self, table: ArmTable) -> None:
        """Go on in a table with one more feature, in which no pull so far has a part."""
        self._sites, self.version = None, self.version + 1
        self.factor = self.factor.extended
        self.values.extend(table)

    def redrawn(self, observations: Observations, generator: torch.Generator) -> Tabulated:
        """Itself: the features stay."""
        return self

    def current(self, observations: Observations) -> Tabulated:
        return self

    def with_pulls(self, pulls: dict[int, float]) -> Tabulated:
        """The same features with other pulls."""
        return Tabulated(self.table.values(), self.ridge, pulls, self.version)

    def with_ridges(self, ridges: Sequence[float]) -> tuple[Tabulated, ...]:
        """The same features and pulls with other regularisations."""
        values, pulls, version = self.table.values, self.pulls, self.version
        return tuple(Tabulated(values(), ridge, dict(pulls), version) for ridge in ridges)

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

    def posterior(
        self, sample: Sample, estimate: Estimate, *, redrawn: bool = False
    ) -> TabulatedPosterior:
        units = estimate.prior_units(sample.units)
        factor = sample.factor_of(estimate.counts)
        found = self.values.posterior(
            factor, estimate.coefficients, units, is_own=factor is self.factor
        )
        if self._number % _CHECK == 0:
            self._refresh_if_drifted()
        return found.as_redrawn if redrawn else found

    def kept(
        self,
        posterior: Posterior | None,
        sample: Sample,
        estimate: Estimate,
        *,
        redrawn: bool = False,
    ) -> TabulatedPosterior:
        if posterior is None:
            return self.posterior(sample, estimate, redrawn=redrawn)
        return replace(posterior, table=self.table, redrawn=redrawn)  # type: ignore[type-var, return-value]

    def refresh(self) -> None:
        """V and the variance from the counts, without what rounding has added up."""
        features = self._at_sites([*self.pulls])[1]
        counts = torch.tensor(list(self.pulls.values()), dtype=features.dtype)
        self.factor = RidgeFactor.of(features, self.ridge, counts)
        self.values.refresh(self.factor)

    def _refresh_if_drifted(self) -> None:
        arm = next(reversed(self.pulls), None)
        if arm is None:
            return
        feature, fresh = self.table.at(arm).cpu(), RidgeFactor(self.ridge, self.factor.gram)
        prior = float(self.table.prior_at(arm))
        residual = prior - float(feature.square().sum())
        exact = max(residual, 0.0) + self.ridge * float(fresh.leverage(feature.unsqueeze(0)))
        if abs(exact - float(self.values.at(arm))) > _DRIFT * prior:
            self.refresh()

    def _leverage_bound(self, arms: list[int], sites: np.ndarray) -> np.ndarray:  # (k,) -> (k,)
        """At least phi' V^{-1} phi at sites."""
        chosen = self._at_sites(arms)[0][torch.from_numpy(sites)]
        return np.maximum(self.values.at(chosen).cpu().numpy(), 0.0) / self.ridge

    def _at_sites(self, arms: list[int]) -> tuple[Tensor, Tensor, Tensor]:
        """Arms, features and residual of the sites, in main memory but for the arms."""
        if self._sites is None or len(self._sites[0]) != len(arms):
            index = torch.tensor(arms, dtype=torch.int64)
            features = self.table.at(index).cpu()
            residual = self.table.prior_at(index).cpu() - features.square().sum(-1)
            self._sites = index, features, residual.clamp_min_(0.0)
        return self._sites

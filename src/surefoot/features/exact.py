"""The exact Gaussian process, as Nyström features with everything in the dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot.features.features import Tables, fixed_features, room_of
from surefoot.features.nystrom_embedding import TOLERANCE, NystromEmbedding
from surefoot.regression.arm_values import ArmTable, TabulatedPosterior
from surefoot.regression.observations import Observations, Pull
from surefoot.regression.posterior import Posterior
from surefoot.regression.refitted import Refitted
from surefoot.regression.regression import Estimate
from surefoot.regression.sample import Sample
from surefoot.regression.tabulated import Tabulated
from surefoot.regression.units import RewardUnits
from surefoot.spaces import Arms, InMemory, Space

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.regression.regression import Regression

_LARGEST_TABLE = 2048  # arms up to which all of them, pulled or not, make the dictionary
_MOST_ROWS = 50_000  # arms up to which a row of the kernel matrix is kept of each measured one,
# in main memory without being asked for


@dataclass(frozen=True)
class Exact:
    """The exact posterior: every distinct point that was measured is in the dictionary.

    Example:
        >>> import surefoot as sf
        >>> space = sf.Arms([[0.0], [0.5], [1.0]])
        >>> kernel = sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.Optimizer(space, sf.Method(kernel, features=sf.Exact()))
    """

    def init(
        self,
        kernel: Kernel,
        space: Space,
        ridge: float,
        generator: torch.Generator,
        *,
        lasting: bool = True,
    ) -> Regression:
        """The regression before the first measurement (see `Features.init`)."""
        if (  # all arms make the dictionary, in this process
            lasting
            and isinstance(space, Arms)
            and len(space) <= _LARGEST_TABLE
            and not space.storage.is_elsewhere
        ):
            return fixed_features(NystromEmbedding.of(kernel, space.points), kernel, space, ridge)
        if (  # a feature of all arms is kept for each measured one
            lasting
            and isinstance(space, Arms)
            and (len(space) <= _MOST_ROWS or space.storage != InMemory())
        ):
            return Growing(kernel, room_of(space, kernel), ridge)
        return Refitted(_AllSites(kernel), ridge)


@dataclass
class _AllSites:
    """Every site is in the dictionary."""

    kernel: Kernel = field(metadata={"saved": False})
    _latest: tuple[int, NystromEmbedding] | None = field(default=None, metadata={"saved": False})

    def update(self, pull: Pull) -> None:
        """Sites are counted where they are given."""

    def embedding(self, sites: Tensor) -> NystromEmbedding:
        if self._latest is None or self._latest[0] != len(sites):
            self._latest = len(sites), NystromEmbedding.of(self.kernel, sites)
        return self._latest[1]


@dataclass(eq=False)
class Growing:
    """Features of the arms that were measured, of which a new arm adds one.

    The root of the kernel matrix is triangular, so that features that are there stay as they are,
    and the new one changes neither mean nor variance before its first reward.

    Args:
        kernel: The prior covariance.
        room: The arms, and room for their features.
        ridge: Regularisation.
        members: The arms in the dictionary, in order.
    """

    kernel: Kernel = field(metadata={"saved": False})
    room: Tables = field(metadata={"saved": False})
    ridge: float
    members: list[int] = field(default_factory=list)
    tabulated: Tabulated = field(init=False)

    batched = False
    is_due = False

    def __post_init__(self) -> None:
        none = self.room.prior.new_zeros(0, 0)
        embedding = NystromEmbedding(self.kernel, self.room.arms.points[:0].clone(), none)
        self.tabulated = Tabulated.of(self.room.growing(embedding), self.ridge)

    @property
    def max_dimension(self) -> int:
        """All arms may be in the dictionary."""
        return len(self.room.arms)

    def update(self, pull: Pull) -> None:
        arm: int = pull.arm  # type: ignore[assignment]
        if arm not in self.tabulated.pulls:
            table = self._joined(arm, len(self.members))
            if table is not self.tabulated.table:
                known = len(self.members)
                self.members.append(arm)
                self.tabulated.extend(table)
                if len(self.tabulated.pulls) > known:
                    # Arms outside the dictionary, which the features represented to within the
                    # tolerance, have a part in the new one that is the root of it.
                    self.tabulated.refresh()
        self.tabulated.update(pull)

    def redrawn(self, observations: Observations, generator: torch.Generator) -> Growing:
        """Itself: nothing is drawn."""
        return self

    def current(self, observations: Observations) -> Growing:
        return self

    def with_ridges(self, ridges: Sequence[float]) -> tuple[Tabulated, ...]:
        """The same features and pulls with other regularisations."""
        return self.tabulated.with_ridges(ridges)

    def sample(self, observations: Observations, units: RewardUnits) -> Sample:
        return self.tabulated.sample(observations, units)

    def posterior(self, sample: Sample, estimate: Estimate) -> TabulatedPosterior:
        # A pull without a reward may be of an arm that the features do not represent yet.
        return self.tabulated.posterior(sample, estimate, redrawn=True)

    def kept(
        self, posterior: Posterior | None, sample: Sample, estimate: Estimate
    ) -> TabulatedPosterior:
        return self.tabulated.kept(posterior, sample, estimate, redrawn=True)

    def after_load(self) -> None:
        """The features of the dictionary, which are not saved."""
        for number, arm in enumerate(self.members):
            self.tabulated.table = self._joined(arm, number)

    def _joined(self, arm: int, number: int) -> ArmTable:
        """The table with an arm that joins so many, or as it is if these represent the arm."""
        table = self.tabulated.table
        known = table.at(arm)
        left = float(table.prior_at(arm)) - float(known.square().sum())
        if left <= TOLERANCE * table.largest:
            return table
        point = table.points[arm : arm + 1]
        grown = table.embedding.joined(point, known, left)  # type: ignore[attr-defined]
        return table.joined(grown, point, known, left, self.members[:number])

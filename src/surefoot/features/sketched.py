"""Ridge regression on arms in features of a random dictionary."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal.numbers import NUMBERS_AT_ONCE
from surefoot._internal.tensors import NO_INDICES
from surefoot.features.features import Tables
from surefoot.features.nystrom_embedding import NystromEmbedding
from surefoot.regression.arm_values import ArmTable, StartVariance, TabulatedPosterior
from surefoot.regression.observations import Observations, Pull
from surefoot.regression.posterior import Posterior
from surefoot.regression.regression import Estimate
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.sample import Sample
from surefoot.regression.table import Kept, Table
from surefoot.regression.tabulated import Tabulated
from surefoot.regression.units import RewardUnits

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_ROOM = 2**29  # bytes of kernel rows that are kept


class KernelRows:
    """k(x, .) at all arms for arms x, computed once each as far as memory allows.

    Rows are computed one at a time, so that they do not depend on what else is asked for.

    Args:
        kernel: The kernel.
        points: The arms (A, d).
    """

    def __init__(self, kernel: Kernel, points: Tensor) -> None:
        self._kernel = kernel
        self._points = points
        self._row: dict[int, int] = {}
        self._known = points.new_zeros(0, len(points))

    def need(self, arms: Tensor) -> None:
        """Have the rows of arms (n,); others are let go when there is no more room."""
        keys = arms.tolist()
        missing = [arm for arm in keys if arm not in self._row]
        if missing and (len(self._row) + len(missing)) * len(self._points) * 8 > _ROOM:
            kept = [arm for arm in keys if arm in self._row]
            self._known = self._known[self._rows_of(kept)]
            self._row = {arm: row for row, arm in enumerate(kept)}
        for arm in missing:
            row = self._row[arm] = len(self._row)
            if row == len(self._known):
                spare = self._known.new_zeros(max(8, row // 2), len(self._points))
                self._known = torch.cat([self._known, spare])
            self._known[row] = kernels.block(
                self._kernel, self._points[arm : arm + 1], self._points
            )[0]

    def at(self, arms: Tensor) -> Tensor:
        """Rows (n, A) of arms (n,) that are there."""
        return self._known[self._rows_of(arms.tolist())]

    def gram(self, arms: Tensor) -> Tensor:
        """Kernel matrix (n, n) of arms (n,) whose rows are there."""
        columns = arms.to(self._known.device)
        return self._known[self._rows_of(arms.tolist())[:, None], columns[None, :]]

    def _rows_of(self, arms: list[int]) -> Tensor:
        rows = [self._row[arm] for arm in arms]
        return torch.tensor(rows, dtype=torch.int64, device=self._known.device)


class Sampling(Protocol):
    """When to draw a dictionary, and how."""

    @property
    def root(self) -> str: ...
    @property
    def batched(self) -> bool: ...
    def is_due(self, explained: float, more: bool) -> bool: ...
    def draw(self, relative: Tensor, counts: Tensor, generator: torch.Generator) -> Tensor: ...


@dataclass(eq=False)
class Sketched:
    """Features of a dictionary of pulled arms, drawn again whenever the rule says so.

    Args:
        rule: Says when to draw, and with which probabilities.
        kernel: The prior covariance.
        room: The arms, and room for their features.
        ridge: Regularisation.
        generator: Source of the draws.
        pulls: Pulls by arm, in order of the first; in batches also those without rewards.
    """

    rule: Sampling = field(metadata={"saved": False})
    kernel: Kernel = field(metadata={"saved": False})
    room: Tables = field(metadata={"saved": False})
    ridge: float
    generator: torch.Generator = field(metadata={"saved": False})
    pulls: dict[int, float] = field(default_factory=dict)
    last: int = 0
    dictionary: Tensor = NO_INDICES
    since: dict[int, float] = field(default_factory=dict)  # pulls since the last draw
    explained: float = 0.0  # sum of sigma^2 / ridge of these
    start: StartVariance = field(init=False)  # at the last draw
    tabulated: Tabulated = field(init=False)
    _rows: KernelRows = field(init=False, metadata={"saved": False})
    _tables: dict[tuple[int, ...], Table] = field(default_factory=dict, metadata={"saved": False})

    @property
    def points(self) -> Tensor:
        """The arms (A, d)."""
        return self.room.arms.points

    @property
    def prior(self) -> Tensor:
        """k(x, x) of the arms (A,)."""
        return self.room.prior

    def __post_init__(self) -> None:
        self._rows = KernelRows(self.kernel, self.points)
        self.tabulated = Tabulated.of(self._table(), self.ridge)
        self._start_from(self.tabulated.values.start())

    @property
    def batched(self) -> bool:
        """Whether pulls count when they are chosen, and the dictionary stays until it is due."""
        return self.rule.batched

    @property
    def max_dimension(self) -> int:
        """All arms may be in the dictionary."""
        return len(self.points)

    @property
    def is_due(self) -> bool:
        """Whether the next batch begins, with a new dictionary."""
        return self.batched and self._calls_for_a_draw()

    def update(self, pull: Pull) -> None:
        arm: int = pull.arm  # type: ignore[assignment]
        _count(self.pulls, arm, pull.times)
        # A pull from before the last draw is not in it.
        self.explained += _count(self.since, arm, pull.times) * self.start.of(arm) / self.ridge
        if pull.times > 0:
            self.last = arm
        if self.batched:
            return
        if self._calls_for_a_draw(pull.more):
            self._draw()
            self.tabulated = Tabulated(
                self._table().values(), self.ridge, dict(self.pulls), self.tabulated.version + 1
            )
            self._start_from(self.tabulated.values.start())
        else:
            self.tabulated.update(pull)

    def redrawn(self, observations: Observations, generator: torch.Generator) -> Sketched:
        """The regression with a new dictionary, which is drawn from all pulls."""
        other = copy.copy(self)
        other.generator, other.pulls = generator, dict(self.pulls)
        other._draw()
        version, table = self.tabulated.version + 1, other._table()
        other.tabulated = Tabulated(table.values(), self.ridge, _rewarded(observations), version)
        start = other.tabulated.values.start()
        if sum(other.pulls.values()) != len(observations):
            arms = torch.tensor(list(other.pulls))
            counts = torch.tensor(list(other.pulls.values()), dtype=torch.float64)
            start = table.start(RidgeFactor.of(table.at(arms).cpu(), self.ridge, counts))
        other._start_from(start)
        return other

    def current(self, observations: Observations) -> Tabulated:
        if not self.batched:
            return self.tabulated
        return self.tabulated.with_pulls(_rewarded(observations))

    def with_ridges(self, ridges: Sequence[float]) -> tuple[Tabulated, ...]:
        """None: the dictionary of the next round is another."""
        return ()

    def sample(self, observations: Observations, units: RewardUnits) -> Sample:
        return self.tabulated.sample(observations, units)

    def posterior(self, sample: Sample, estimate: Estimate) -> TabulatedPosterior:
        return self.tabulated.posterior(sample, estimate, redrawn=not self.batched)

    def kept(
        self, posterior: Posterior | None, sample: Sample, estimate: Estimate
    ) -> TabulatedPosterior:
        return self.tabulated.kept(posterior, sample, estimate, redrawn=not self.batched)

    def after_load(self) -> None:
        """The table of the dictionary, which is not saved."""
        self.tabulated.table = self._table()
        self.start = self.start.within(self.tabulated.table)

    def _calls_for_a_draw(self, more: bool = False) -> bool:
        return len(self.dictionary) == 0 or self.rule.is_due(self.explained, more)

    def _start_from(self, start: StartVariance) -> None:
        """The variance from which the next pulls are counted."""
        self.since, self.explained, self.start = {}, 0.0, start

    def _draw(self) -> None:
        """A new dictionary of pulled arms; the last pull, where the draw leaves it empty."""
        arms = torch.tensor(list(self.pulls), dtype=torch.int64)
        counts = torch.tensor(list(self.pulls.values()), dtype=torch.float64)
        relative = self.start.at(arms) / self.ridge
        chosen = arms[self.rule.draw(relative, counts, self.generator)]
        self.dictionary = chosen if len(chosen) else torch.tensor([self.last])

    def _table(self) -> ArmTable:
        """The features of the dictionary at all arms."""
        chosen, none = self.dictionary, self.prior.new_zeros(0, 0)
        if len(chosen) == 0:
            return self.room.table(NystromEmbedding(self.kernel, self.points[:0].clone(), none))
        points = self.points[chosen.to(self.points.device)]
        if not self.room.is_ample:
            return self.room.table(self._embedding(points))
        self._rows.need(chosen)
        if self.rule.root == "symmetric":
            return self._symmetric_table(chosen, points)
        embedding, stayed = NystromEmbedding.of_gram(self.kernel, points, self._rows.gram(chosen))
        rows = self._rows.at(chosen[stayed.cpu()])
        return Table(embedding, self.points, self.prior, Kept(rows.T), embedding.inverse_root)

    def _embedding(self, points: Tensor) -> NystromEmbedding:
        """The features of a dictionary (m, d)."""
        if self.rule.root == "symmetric":
            gram = kernels.block(self.kernel, points, points)
            return NystromEmbedding.symmetric(self.kernel, points, gram)
        return NystromEmbedding.of(self.kernel, points)

    def _symmetric_table(self, chosen: Tensor, points: Tensor) -> Table:
        """The features of the symmetric root; those of the last dictionaries are kept."""
        key = tuple(chosen.tolist())
        table = self._tables.pop(key, None)
        if table is None:
            rows, gram = self._rows.at(chosen), self._rows.gram(chosen)
            embedding = NystromEmbedding.symmetric(self.kernel, points, gram)
            features = rows.T @ embedding.inverse_root.T
            none = self.prior.new_zeros(0, 0)
            table = Table(embedding, self.points, self.prior, Kept(features), none)
        self._tables[key] = table
        room = max(1, NUMBERS_AT_ONCE // table.size)
        while len(self._tables) > room:
            del self._tables[next(iter(self._tables))]
        return table


def _count(pulls: dict[int, float], arm: int, times: int) -> float:
    """Add pulls of an arm, or take back as many as there are; the difference that it makes."""
    before = pulls.get(arm, 0.0)
    after = max(before + times, 0.0)
    if after > 0.0:
        pulls[arm] = after
    elif before > 0.0:
        del pulls[arm]
    return after - before


def _rewarded(observations: Observations) -> dict[int, float]:
    return dict(zip(observations.arms, observations.counts.tolist(), strict=True))

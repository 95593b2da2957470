"""The feature map evaluated at all arms, and their variance in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal.brief import brief
from surefoot._internal.linalg import cholesky
from surefoot._internal.numbers import NUMBERS_AT_ONCE, ROUNDING
from surefoot.regression.arm_posterior import ArmPosterior
from surefoot.regression.arm_values import MOST_STEPS, Steps, extended
from surefoot.regression.draws import Path, ResidualDraw, no_residual, residual_draw
from surefoot.regression.embedding import Embedding
from surefoot.regression.products import block_length
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.units import RewardUnits


class ArmFeatures:
    """The part of a table of features that it has from its feature map and from the prior.

    Attributes:
        embedding: The feature map, for points that are no arms.
        prior: k(x, x) of the arms (A,).
    """

    embedding: Embedding
    prior: Tensor

    @property
    def dimension(self) -> int:
        """The number of features m."""
        return self.embedding.dimension

    @cached_property
    def largest(self) -> float:
        """Largest prior variance of an arm."""
        return float(self.prior.max())

    def prior_at(self, arms: int | Tensor) -> Tensor:
        """k(x, x) of an arm, or (n,) of several."""
        return self.prior[arms]

    def residual(self, points: Tensor, features: Tensor) -> Tensor:
        """[k(x, x) - ||phi(x)||^2]+ (n,) at points (n, d) with these features (n, m)."""
        return self.embedding.residual(points, features)

    def cross_residual(
        self, left: Tensor, left_features: Tensor, right: Tensor, right_features: Tensor
    ) -> Tensor:
        """k(x, y) - phi(x)' phi(y) (n, p) at points (n, d) and (p, d) with these features."""
        return self.embedding.cross_residual(left, left_features, right, right_features)


class Source(Protocol):
    """Where the columns of a table are."""

    @property
    def columns(self) -> Tensor:
        """Factors (A, m) of the features."""


@dataclass(eq=False)
class Kept:
    """Features that are there.

    Args:
        columns: Factors (A, m) of the features.
    """

    columns: Tensor


@dataclass(frozen=True, eq=False)
class Table(ArmFeatures):
    """An embedding that looks up, instead of computing, the features of the arms.

    The features of the arms are `columns` (A, m) times `transform`' (m, m). With the identity as
    the transform they are the columns themselves. Otherwise the columns are those of the kernel,
    and what is linear in the features costs one reading of them, without the product.

    Args:
        embedding: The feature map, for points that are no arms.
        points: The arms (A, d).
        prior: k(x, x) of the arms (A,).
        source: Where factors (A, m) of the features are.
        transform: Factor (m, m) of the features; of shape (0, 0) for the identity.
    """

    embedding: Embedding
    points: Tensor
    prior: Tensor
    source: Source
    transform: Tensor

    __repr__ = brief

    def joined(
        self, embedding: Embedding, point: Tensor, known: Tensor, left: float, members: list[int]
    ) -> Table:
        """The table of a map with one more feature, by a point that joins the dictionary."""
        column = kernels.block(embedding.kernel, point, self.points)[0].detach()  # type: ignore[attr-defined]
        row = (column - self.product(known)) / left**0.5
        row[members] = 0.0  # but for rounding
        return replace(self, embedding=embedding, source=self.source.joined(embedding, row))  # type: ignore[attr-defined]

    def rows(self, arms: Tensor) -> Table:
        """The table of some of the arms (n,)."""
        source = Kept(self.columns[arms])
        return replace(self, points=self.points[arms], prior=self.prior[arms], source=source)

    def values(self) -> LocalValues:
        """Variance of the arms before the first pull."""
        return LocalValues(self, self.prior)

    def start(self, factor: RidgeFactor) -> LocalStart:
        """Variance of the arms for a factor."""
        return LocalStart(self.variance(factor))

    @property
    def columns(self) -> Tensor:
        """Factors (A, m) of the features, in the precision of their storage."""
        return self.source.columns

    @cached_property
    def size(self) -> int:
        """Numbers in the table."""
        return len(self.points) * self.dimension

    @cached_property
    def _is_plain(self) -> bool:
        return self.transform.numel() == 0

    @cached_property
    def residuals(self) -> Tensor:
        """[k(x, x) - ||phi(x)||^2]+ of all arms (A,)."""
        residual = self.embedding.residual
        return self.by_blocks(lambda arms: residual(self.points[arms], self.at(arms)))

    @property
    def blocks(self) -> Iterator[slice]:
        """All arms in blocks, which bound the memory that a computation takes."""
        step, number = block_length(self.dimension, self.prior.device), len(self.points)
        return (slice(start, start + step) for start in range(0, number, step))

    def by_blocks(self, function: Callable[[slice], Tensor]) -> Tensor:
        """Values (A,) of a function of the arms of a block."""
        values = self.prior.new_empty(len(self.points))
        for arms in self.blocks:  # not joined at the end: pieces between blocks fragment memory
            values[arms] = function(arms)
        return values

    def at(self, arms: int | slice | Tensor) -> Tensor:
        """Features (m,) of an arm, or (n, m) of several."""
        rows = self._columns_at(arms)
        return rows if self._is_plain else rows @ self.transform.T

    def fallen(self, fallen: Tensor, arms: slice | Tensor) -> Tensor:  # -> (n,)
        """Quadratic form, given by its matrix (m, m), of the columns of arms."""
        columns = self._columns_at(arms)
        return (columns @ fallen).mul_(columns).sum(-1)

    def _columns_at(self, arms: int | slice | Tensor) -> Tensor:
        rows = self.columns[arms]
        return rows if rows.dtype == torch.float64 else rows.to(torch.float64)

    def seen(self, coefficients: Tensor) -> Tensor:  # (m,) or (m, n), the same
        """Coefficients whose product with the columns is that of the features."""
        return coefficients if self._is_plain else self.transform.T @ coefficients

    def product(self, coefficients: Tensor) -> Tensor:  # (m,) -> (A,), (m, n) -> (A, n)
        """Phi times coefficients, in one reading of the table."""
        columns, seen = self.columns, self.seen(coefficients)
        if columns.dtype != torch.float64 and seen.ndim > 1:
            return torch.stack([self.product(each) for each in coefficients.T], -1)
        if columns.dtype != torch.float64:
            return self.by_blocks(lambda arms: _product(self._columns_at(arms), seen))
        return _product(columns, seen)

    def moved(
        self, coefficients: Tensor, directions: list[Tensor], drops: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Phi times coefficients (m,), and by how much steps lower the variance, in one reading.

        Args:
            coefficients: Coefficients (m,).
            directions: Directions (m,) of k steps.
            drops: Their rates (k,), of the squared products with the features.

        Returns:
            Products (A,) and falls (A,).
        """
        seen = self.seen(torch.stack([*directions, coefficients], -1))

        def both(columns: Tensor) -> tuple[Tensor, Tensor]:
            products = _product(columns, seen)
            return products[:, -1], products[:, :-1].square() @ drops

        if self.columns.dtype == torch.float64 and self.size <= NUMBERS_AT_ONCE:
            return both(self.columns)
        product, falls = drops.new_empty(len(self.points)), drops.new_empty(len(self.points))
        for arms in self.blocks:
            product[arms], falls[arms] = both(self._columns_at(arms))
        return product, falls

    def variance(self, factor: RidgeFactor) -> Tensor:
        """k(x, x) - ||phi||^2 + ridge phi' V^{-1} phi of all arms (A,)."""
        factor = factor.to(self.prior.device)
        if self._is_plain:
            return self.by_blocks(lambda arms: self._variance_of(factor, arms))
        # k - ||C k_S||^2 with C'C = T'(I - ridge V^{-1})T: one product instead of two.
        eye = torch.eye(self.dimension, dtype=self.columns.dtype, device=self.columns.device)
        product = cholesky(eye - factor.ridge * factor.inverse).T @ self.transform
        columns = self.columns.T

        def left(arms: slice) -> Tensor:
            return self.prior[arms] - (product @ columns[:, arms]).square_().sum(0)

        return self.by_blocks(left).clamp_min_(0.0)

    def _variance_of(self, factor: RidgeFactor, arms: slice) -> Tensor:
        features = self.at(arms)
        residual = self.embedding.residual(self.points[arms], features)
        return residual + factor.ridge * factor.leverage(features)

    def __call__(self, points: Tensor) -> Tensor:
        return self.at(slice(None)) if points is self.points else self.embedding(points)

    def residual_draw(self, prior: Callable[[], Path]) -> ResidualDraw:
        """A draw of the residual process, which is 0 where the features represent all arms."""
        most = ROUNDING * self.largest
        if self._is_plain and float(self.residuals.max()) <= most:
            return no_residual(self.prior, self.dimension)
        return residual_draw(self.embedding, prior, self.prior)


def _product(columns: Tensor, coefficients: Tensor) -> Tensor:
    """Columns (A, m), whose memory is in order of the features, times (m,) or (m, n)."""
    if coefficients.ndim == 1 or columns.stride(0) != 1:
        return columns @ coefficients
    return (coefficients.T.contiguous() @ columns.T).T  # in half of the time


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

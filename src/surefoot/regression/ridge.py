"""The geometry of ridge regression: V = ridge I + sum of phi phi', its factor and leverages."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf, dtrtrs
from torch import Tensor

from surefoot._internal.brief import brief
from surefoot._internal.linalg import SMALL, cholesky
from surefoot._internal.numbers import ROWS_AT_ONCE
from surefoot.regression.products import AT_ONCE, Products

REFRESH = 512
"""Rank-one updates between factorisations of V itself, without what rounding has added up."""

LARGEST_STEP = 1e4
"""Growth of V in one direction, after which its inverse has lost digits."""


class RidgeStep(NamedTuple):
    """A rank-one update of V: leverages phi(x)' V^{-1} phi(x) fall by rate (phi(x)' solved)^2."""

    factor: RidgeFactor
    solved: Tensor  # (m,), V^{-1} phi before the update
    growth: float  # of det V
    times: float

    def drop(self, scale: float) -> float:
        """The rate at which leverages fall, times a scale."""
        return scale * self.times / self.growth


@dataclass(eq=False)
class RidgeFactor:
    """V = ridge I + F' diag(counts) F in m features, with its Cholesky factor when it is needed.

    Args:
        ridge: Regularisation, the noise variance in the units of the model.
        gram: V (m, m).
        known_inverse: V^{-1} (m, m), where rank-one updates have kept it up to date.
        known_gain: Information gain, where rank-one updates have kept it up to date.
    """

    ridge: float
    gram: Tensor  # (m, m), V
    known_inverse: Tensor | None = None  # (m, m)
    known_gain: float | None = None

    __repr__ = brief

    @classmethod
    def of(
        cls,
        features: Tensor,
        ridge: float,
        counts: Tensor | None = None,
        products: Products = AT_ONCE,
    ) -> RidgeFactor:
        """From features (S, m) of the sites, each as often as `counts` (S,) says (or weighs)."""
        weights = features.new_ones(len(features)) if counts is None else counts
        eye = torch.eye(features.shape[1], dtype=features.dtype, device=features.device)
        return cls(ridge, ridge * eye + products.gram(features, weights))

    def updated(self, feature: Tensor, count: float = 1.0) -> RidgeStep:  # (m,)
        """With `count` more pulls of one point (fewer if negative), by a rank-one update.

        Args:
            feature: Features (m,) of the point.
            count: Number of pulls, negative to take them back.

        Returns:
            The new factor with what the update does to leverages everywhere.
        """
        solved = self.inverse @ feature
        growth = 1.0 + count * float(feature @ solved)
        inverse = torch.addr(self.inverse, solved, solved, alpha=-count / growth)
        gram = torch.addr(self.gram, feature, feature, alpha=count)
        gain = self.information_gain + 0.5 * math.log(growth)
        return RidgeStep(RidgeFactor(self.ridge, gram, inverse, gain), solved, growth, count)

    def after(self, features: Tensor, counts: Tensor) -> tuple[RidgeFactor, Tensor]:
        """With pulls of several points together, whose number no rank-one update depends on.

        Args:
            features: Features (k, m) of the points, of which some may be the same.
            counts: Pulls (k,) of each.

        Returns:
            The new factor, and directions (m, k) of the sum of whose squared products with
            features leverages everywhere fall.
        """
        if len(features) == 1:
            step = self.updated(features[0], float(counts))
            return step.factor, (step.solved * math.sqrt(step.drop(1.0))).unsqueeze(-1)
        solved = self.inverse @ features.T
        inner = features @ solved
        inner.diagonal().add_(1.0 / counts)
        root = cholesky(inner)
        directions = torch.linalg.solve_triangular(root, solved.T, upper=False).T
        inverse = torch.addmm(self.inverse, directions, directions.T, alpha=-1.0)
        gram = torch.addmm(self.gram, features.T * counts, features)
        growth = float(root.diagonal().log().sum() + 0.5 * counts.log().sum())
        return RidgeFactor(self.ridge, gram, inverse, self.information_gain + growth), directions

    @property
    def extended(self) -> RidgeFactor:
        """With one more feature, which is zero at all pulls so far."""
        number = self.dimension
        inverse, gram = (self.gram.new_zeros(number + 1, number + 1) for _ in range(2))
        inverse[:number, :number], gram[:number, :number] = self.inverse, self.gram
        inverse[number, number], gram[number, number] = 1.0 / self.ridge, self.ridge
        return RidgeFactor(self.ridge, gram, inverse, self.information_gain)

    def to(self, device: torch.device) -> RidgeFactor:
        """The same on a device."""
        if self.gram.device == device:
            return self
        inverse = None if self.known_inverse is None else self.known_inverse.to(device)
        return RidgeFactor(self.ridge, self.gram.to(device), inverse, self.known_gain)

    @property
    def dimension(self) -> int:
        return self.gram.shape[0]

    @cached_property
    def root(self) -> Tensor:
        """(m, m), lower, root root' = V."""
        return cholesky(self.gram)

    def directions(self, features: np.ndarray) -> np.ndarray:  # (k, m) -> (m, k)
        """Columns root^{-1} phi for the few rows phi of a host array."""
        if self.dimension <= SMALL:
            # `dtrtrs` wakes the threads of OpenBLAS for a handful of columns.
            return np.asarray(dtrsm(1.0, self._small_root, features.T, lower=1))
        return self.whiten(torch.from_numpy(features).to(self.gram.device)).T.cpu().numpy()

    def undirected(self, totals: np.ndarray) -> np.ndarray:  # (m,) -> (m,)
        """root^{-T} totals, the way back from `directions`."""
        if self.dimension <= SMALL:
            return np.asarray(dtrtrs(self._small_root, totals, lower=1, trans=1)[0])
        column = torch.from_numpy(totals).to(self.gram.device).unsqueeze(-1)
        solved = torch.linalg.solve_triangular(self.root.T, column, upper=True)
        return solved.squeeze(-1).cpu().numpy()

    @cached_property
    def _small_root(self) -> np.ndarray:
        """The root for LAPACK; what is above its diagonal is not to be read."""
        root, failed = dpotrf(self.gram.cpu().numpy(), lower=1, clean=0)
        return self.root.cpu().numpy() if failed else np.asarray(root)

    @property
    def inverse(self) -> Tensor:
        """V^{-1} (m, m)."""
        return self._inverse if self.known_inverse is None else self.known_inverse

    @cached_property
    def _inverse(self) -> Tensor:
        return torch.cholesky_inverse(self.root).contiguous()

    def solve(self, moments: Tensor) -> Tensor:  # (m,) -> (m,)
        """V^{-1} moments."""
        if self.known_inverse is not None:
            return self.known_inverse @ moments
        return torch.cholesky_solve(moments.unsqueeze(-1), self.root).squeeze(-1)

    def whiten(self, features: Tensor) -> Tensor:  # (n, m) -> (n, m)
        """Rows u = root^{-1} phi; ||u||^2 is the leverage phi' V^{-1} phi."""
        return torch.linalg.solve_triangular(self.root.T, features, upper=True, left=False)

    def leverage(self, features: Tensor) -> Tensor:  # (n, m) -> (n,)
        """phi' V^{-1} phi, differentiable in the features."""
        return self.whiten(features).square().sum(-1)

    def leverages(self, features: Tensor) -> Tensor:  # (n, m) -> (n,)
        """`leverage` of many rows, a quarter of the time where it need not be differentiable."""
        if len(features) <= ROWS_AT_ONCE:
            return self.leverage(features)
        eye = torch.eye(self.dimension, dtype=features.dtype, device=features.device)
        whitening = torch.linalg.solve_triangular(self.root, eye, upper=False).T
        parts = [(rows @ whitening).square().sum(-1) for rows in features.split(ROWS_AT_ONCE)]
        return torch.cat(parts)

    @cached_property
    def symmetric_inverse_root(self) -> Tensor:
        """V^{-1/2}, the symmetric one (m, m)."""
        values, vectors = torch.linalg.eigh(self.gram)
        return vectors @ torch.diag(values.clamp_min(self.ridge).rsqrt()) @ vectors.T

    def symmetric_product(
        self, features: Tensor, counts: Tensor
    ) -> Callable[[np.ndarray], np.ndarray]:  # (m,) or (m, k), the same
        """Multiplication by the symmetric V^{-1/2}.

        Where sites are fewer than features, from the eigenvalues e of B B', B = diag(counts)^{1/2}
        F: V^{-1/2} is ridge^{-1/2} less B' g(B B') B, with g(e) the difference of ridge^{-1/2} and
        (ridge + e)^{-1/2} over e, written without the difference.

        Args:
            features: Features F (S, m) of the sites.
            counts: Rewards at each site (S,).

        Returns:
            The product of V^{-1/2} with columns in main memory.
        """
        if len(features) >= self.dimension:
            root = self.symmetric_inverse_root.cpu()
            return lambda columns: (root @ torch.from_numpy(columns)).numpy()
        B = counts.sqrt()[:, None].cpu() * features.cpu()
        values, vectors = torch.linalg.eigh(B @ B.T)
        least, root = math.sqrt(self.ridge), (values.clamp_min(0.0) + self.ridge).sqrt()
        inner = (vectors / (least * root * (least + root))) @ vectors.T

        def product(columns: np.ndarray) -> np.ndarray:
            given = torch.from_numpy(columns)
            return (given / least - B.T @ (inner @ (B @ given))).numpy()

        return product

    @property
    def information_gain(self) -> float:
        """Half of ln det(V / ridge) = half of ln det(I + K / ridge)."""
        return self._gain if self.known_gain is None else self.known_gain

    @cached_property
    def _gain(self) -> float:
        log_det = 2.0 * float(self.root.diagonal().log().sum())
        return max(0.0, 0.5 * (log_det - self.dimension * math.log(self.ridge)))

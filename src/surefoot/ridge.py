"""The geometry of ridge regression: V = ridge I + sum of phi phi', its factor and leverages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from surefoot._linalg import cholesky


@dataclass(frozen=True, eq=False)
class RidgeFactor:
    """V = ridge I + F' diag(counts) F and its Cholesky factor, in m features."""

    ridge: float
    gram: Tensor  # (m, m), V
    root: Tensor  # (m, m), lower, root root' = V

    @classmethod
    def of(cls, features: Tensor, ridge: float, counts: Tensor | None = None) -> RidgeFactor:
        """From features (S, m) of the sites, each as often as `counts` (S,) says (or weighs)."""
        weighted = features if counts is None else features * counts[:, None]
        eye = torch.eye(features.shape[1], dtype=features.dtype, device=features.device)
        gram = ridge * eye + features.T @ weighted
        return cls.from_gram(ridge, gram)

    @classmethod
    def from_gram(cls, ridge: float, gram: Tensor) -> RidgeFactor:
        """From V itself (m, m)."""
        return cls(ridge, gram, cholesky(gram))

    def extended(self, features: Tensor) -> RidgeFactor:  # (n, m)
        """With more points, each once."""
        return RidgeFactor.from_gram(self.ridge, self.gram + features.T @ features)

    @property
    def dimension(self) -> int:
        return len(self.gram)

    def solve(self, moments: Tensor) -> Tensor:  # (m,) -> (m,)
        """V^{-1} moments."""
        return torch.cholesky_solve(moments.unsqueeze(-1), self.root).squeeze(-1)

    def whiten(self, features: Tensor) -> Tensor:  # (n, m) -> (n, m)
        """Rows u = root^{-1} phi; ||u||^2 is the leverage phi' V^{-1} phi."""
        return torch.linalg.solve_triangular(self.root.T, features, upper=True, left=False)

    def leverage(self, features: Tensor) -> Tensor:  # (n, m) -> (n,)
        """phi' V^{-1} phi, differentiable in the features."""
        return self.whiten(features).square().sum(-1)

    @cached_property
    def symmetric_inverse_root(self) -> Tensor:
        """V^{-1/2}, the symmetric one (m, m)."""
        values, vectors = torch.linalg.eigh(self.gram)
        return vectors @ torch.diag(values.clamp_min(self.ridge).rsqrt()) @ vectors.T

    @cached_property
    def information_gain(self) -> float:
        """Half of ln det(V / ridge) = half of ln det(I + K / ridge)."""
        log_det = 2.0 * float(self.root.diagonal().log().sum())
        return max(0.0, 0.5 * (log_det - self.dimension * math.log(self.ridge)))

"""Nyström features: the kernel projected onto a dictionary of points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal.brief import brief
from surefoot._internal.linalg import cholesky, pivoted_cholesky, pivoted_root
from surefoot._internal.numbers import LAST_DIGITS
from surefoot.kernels.closed_form import closed_form_to, constant_diagonal
from surefoot.regression.draws import Path, ResidualDraw
from surefoot.regression.embedding import Embedding
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


TOLERANCE = 1e-10  # residual variance, relative to the largest, below which a point adds nothing


@dataclass(frozen=True, eq=False)
class NystromEmbedding:
    r"""phi(x) = L^{-1} k_S(x) with L L^T = K_S.

    :math:`\phi(x)^\top \phi(x') = k_S(x)^\top K_S^{+} k_S(x')`, the same for any root of K_S;
    the triangular one lets a point join without changing the features that are there. Where the
    kernel is zero at every point there are no features.

    Args:
        kernel: The prior covariance.
        dictionary: Points (m, d), linearly independent in the RKHS under the triangular root.
        inverse_root: L^{-1} (m, m), or the symmetric (K_S^{1/2})^+ (`symmetric`).
        joints: Rows (j + 1,) of L of the last points, which joined one by one.

    Example:
        >>> import torch
        >>> import surefoot as sf
        >>> points = torch.tensor([[0.0], [0.5], [1.0]], dtype=torch.float64)
        >>> kernel = sf.kernels.squared_exponential(0.2)
        >>> embedding = sf.features.NystromEmbedding.of(kernel, points)
        >>> embedding(points).shape
        torch.Size([3, 3])
    """

    kernel: Kernel
    dictionary: Tensor
    inverse_root: Tensor
    joints: tuple[Tensor, ...] = ()

    __repr__ = brief

    @classmethod
    def of(cls, kernel: Kernel, points: Tensor, rank: int | None = None) -> NystromEmbedding:
        """The embedding of a dictionary, without points that depend linearly on the others.

        Args:
            kernel: The prior covariance.
            points: Candidates (S, d) for the dictionary.
            rank: The largest size m of the dictionary, chosen greedily by residual variance in
                O(S rank) memory; None keeps every point that adds something, in O(S^2) memory.

        Returns:
            The embedding.

        Raises:
            InvalidInput: If there are no points.
        """
        if len(points) == 0:
            raise InvalidInput("the dictionary is empty, expected at least one point.")
        if rank is None or len(points) <= 2 * rank:
            return cls.of_gram(kernel, points, kernels.block(kernel, points, points), rank)[0]
        diagonal = kernels.diagonal(kernel, points)

        def column(index: int) -> Tensor:
            return kernels.block(kernel, points[index : index + 1], points)[0]

        return cls.rooted(kernel, points[pivoted_cholesky(column, diagonal, rank, TOLERANCE)])

    @classmethod
    def of_gram(
        cls,
        kernel: Kernel,
        points: Tensor,
        gram: Tensor,
        rank: int | None = None,
    ) -> tuple[NystromEmbedding, Tensor]:
        """The embedding of a dictionary whose kernel matrix is known.

        Args:
            kernel: The prior covariance.
            points: Candidates (S, d) for the dictionary.
            gram: Their kernel matrix (S, S).
            rank: The largest size m of the dictionary; None for no limit.

        Returns:
            The embedding, and the indices (m,) of the points in the dictionary.
        """
        pivots, root = pivoted_root(gram, rank or len(points), TOLERANCE)
        return cls(kernel, points[pivots], _inverse(root)), pivots

    @classmethod
    def rooted(cls, kernel: Kernel, dictionary: Tensor) -> NystromEmbedding:
        """The embedding of a dictionary (m, d) of linearly independent points."""
        root = cholesky(kernels.block(kernel, dictionary, dictionary))
        return cls(kernel, dictionary, _inverse(root))

    @classmethod
    def symmetric(cls, kernel: Kernel, dictionary: Tensor, gram: Tensor) -> NystromEmbedding:
        """phi(x) = (K_S^{1/2})^+ k_S(x): one feature for each point, whatever the rank of K_S.

        Args:
            kernel: The prior covariance.
            dictionary: Points (m, d), which may be linearly dependent.
            gram: Their kernel matrix (m, m).

        Returns:
            The embedding of m features.

        References:
            Chowdhury and Gopalan 2019 (heavy-tailed payoffs), section 5.1 (b).
        """
        values, vectors = torch.linalg.eigh(gram)
        kept = values > LAST_DIGITS * float(values[-1])
        powers = torch.where(kept, values, 1.0).rsqrt() * kept
        return cls(kernel, dictionary, (vectors * powers) @ vectors.T)

    def joined(self, point: Tensor, feature: Tensor, left: float) -> NystromEmbedding:
        """The embedding with one more point, which adds a feature to those that there are.

        Args:
            point: The point (1, d).
            feature: Its features (m,).
            left: Its residual variance, above 0.

        Returns:
            The embedding of m + 1 features.
        """
        number, scale = self.dimension, left**0.5
        root = feature.new_zeros(number + 1, number + 1)
        root[:number, :number] = self.inverse_root
        root[number, :number] = -(feature @ self.inverse_root) / scale
        root[number, number] = 1.0 / scale
        joint = torch.cat([feature, feature.new_tensor([scale])])
        dictionary = torch.cat([self.dictionary, point])
        return NystromEmbedding(self.kernel, dictionary, root, (*self.joints, joint))

    @property
    def base(self) -> int:
        """Number of the points that did not join."""
        return self.dimension - len(self.joints)

    def shared(self, other: Embedding) -> int:
        """Number of the first features that are those of another map."""
        if not isinstance(other, NystromEmbedding) or other.kernel is not self.kernel:
            return 0
        base, most = self.base, min(self.dimension, other.dimension)
        if (
            base != other.base
            or not torch.equal(self.dictionary[:base], other.dictionary[:base])
            or not torch.equal(self.inverse_root[:base, :base], other.inverse_root[:base, :base])
        ):
            return 0
        same = (self.dictionary[base:most] == other.dictionary[base:most]).all(-1)
        return base + int(same.long().cumprod(0).sum())

    def extended(self, points: Tensor, known: Tensor) -> Tensor:
        """Features (n, m) of points (n, d), of which the first (n, k) are known; k may be 0."""
        if known.shape[1] < self.base:
            known = self.first(points)
        first = known.shape[1]
        features = known.new_empty(len(points), self.dimension)
        features[:, :first] = known
        for one in range(first, self.dimension):
            joint = self.joints[one - self.base]
            values = kernels.block(self.kernel, points, self.dictionary[one : one + 1])[:, 0]
            features[:, one] = (values - features[:, :one].contiguous() @ joint[:-1]) / joint[-1]
        return features

    @cached_property
    def first(self) -> NystromEmbedding:
        """The embedding without the points that joined, its root row by row."""
        base = self.base
        root = self.inverse_root[:base, :base].contiguous()
        return NystromEmbedding(self.kernel, self.dictionary[:base], root)

    @property
    def dimension(self) -> int:
        """m, the number of features."""
        return len(self.dictionary)

    def __call__(self, points: Tensor) -> Tensor:
        """Features (n, m) of points (n, d)."""
        formula = self._formula
        values = (
            kernels.block(self.kernel, points, self.dictionary)
            if formula is None
            else formula(points)
        )
        return values @ self.inverse_root.T

    @cached_property
    def _formula(self) -> Callable[[Tensor], Tensor] | None:
        """Kernel values with the dictionary, where the kernel has a closed form."""
        return closed_form_to(self.kernel, self.dictionary)

    @cached_property
    def _variance(self) -> Tensor | None:
        """k(x, x), where it is known to be the same at every point."""
        return constant_diagonal(self.kernel)

    def residual(self, points: Tensor, features: Tensor) -> Tensor:
        """[k(x, x) - ||phi(x)||^2]+ at points (n, d) with features (n, m), as (n,)."""
        known = self._variance
        diagonal = kernels.diagonal(self.kernel, points) if known is None else known
        return (diagonal - features.square().sum(-1)).clamp_min(0.0)

    def cross_residual(
        self, left: Tensor, left_features: Tensor, right: Tensor, right_features: Tensor
    ) -> Tensor:
        """k(x, x') - phi(x)^T phi(x') of points (..., n, d) and (..., p, d), as (..., n, p)."""
        return kernels.block(self.kernel, left, right) - left_features @ right_features.mT

    def residual_draw(self, prior: Callable[[], Path]) -> ResidualDraw:
        """A draw of the Gaussian process with the residual as its covariance.

        It is a draw h of the prior less its interpolation at the dictionary S,
        h(x) - k_S(x)' K_S^{-1} h(S).

        Args:
            prior: Draws a function of the prior.

        Returns:
            The function h, and the coefficients (m,) of its interpolation.

        References:
            Wilson et al. 2020, "Efficiently sampling functions from Gaussian process posteriors",
            eq. 13, without noise.
        """
        function = prior()
        if not self.dimension:
            return ResidualDraw(function, self.inverse_root.new_zeros(0))
        return ResidualDraw(function, self.inverse_root @ function(self.dictionary))


def _inverse(root: Tensor) -> Tensor:
    eye = torch.eye(len(root), dtype=root.dtype, device=root.device)
    return torch.linalg.solve_triangular(root, eye, upper=False)

"""Functions drawn from the prior, by the kernel's spectrum or by its values at many points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal.numbers import ROWS_AT_ONCE, TINY
from surefoot.features.fourier import RandomFourier
from surefoot.features.nystrom_embedding import NystromEmbedding
from surefoot.kernels.parametric import SCALE_KERNELS
from surefoot.regression.draws import Path
from surefoot.spaces import Arms, Space
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_WAVES = 512  # random Fourier features of a draw
_GRID = 2048  # points of a box at which a kernel without a known spectrum is factorised
_TRIED = 512  # points at which the variance of draws is compared with the prior's
_MISSING = 0.01  # of the prior variance, that draws may lack on average
_WORK = {True: 2**33, False: 2**36}  # operations of a factorisation, where waves may replace it


@dataclass(eq=False)
class PriorPaths:
    r"""Draws of a Gaussian process with mean 0 and a given kernel, as functions of points.

    On arms, and for kernels whose spectrum is not known, a draw is
    :math:`k_G(x)^\top K_G^{-1/2} \eta` with :math:`\eta \sim N(0, I)`, where G are points (of the
    arms, or of a grid on a box) chosen by pivoted Cholesky until they represent the kernel: a joint
    draw of all arms up to rounding. Squared exponential and Matérn kernels on a box, or on more
    arms than a factorisation can handle, are drawn by random Fourier features, with frequencies
    drawn anew each time, so that the covariance of the draws is the kernel.

    Args:
        kernel: The prior covariance.
        space: Where the function is defined.

    References:
        Wilson et al. 2020, "Efficiently sampling functions from Gaussian process posteriors";
        Rahimi and Recht 2007.

    Example:
        >>> import torch
        >>> import surefoot as sf
        >>> prior = PriorPaths(sf.kernels.squared_exponential(0.2), sf.Box([0.0], [1.0]))
        >>> path = prior(torch.Generator().manual_seed(0))
        >>> path(torch.zeros(3, 1, dtype=torch.float64)).shape
        torch.Size([3])
    """

    kernel: Kernel
    space: Space

    def __call__(self, generator: torch.Generator) -> Path:
        """A draw.

        Args:
            generator: Source of randomness.

        Returns:
            The function, points (n, d) -> (n,), differentiable.

        Raises:
            InvalidInput: If the kernel cannot be drawn on the space: its spectrum is not known,
                and too many points would be needed.
        """
        return self._draw(generator)

    @cached_property
    def _draw(self) -> Callable[[torch.Generator], Path]:
        """The way to draw that suits the kernel and the space."""
        has_spectrum = _has_spectrum(self.kernel)
        if has_spectrum and not self.space.finite:
            return self._waves
        listed = _ListedPaths.of(self.kernel, self.space, _WORK[has_spectrum])
        if listed.missing <= _MISSING:
            return listed
        if has_spectrum:
            return self._waves
        raise InvalidInput(
            f"functions cannot be drawn from this kernel ({type(self.kernel).__name__}): its "
            f"spectrum is not known, and {listed.embedding.dimension} points leave "
            f"{listed.missing:.0%} of its variance unexplained. Pass a squared exponential or "
            "Matérn kernel, longer lengthscales or fewer arms, or `UpperConfidenceBound()` as the "
            "policy."
        )

    def _waves(self, generator: torch.Generator) -> Path:
        seed = int(torch.randint(2**31 - 1, (), generator=generator))
        embedding = RandomFourier(_WAVES, seed).embedding(self.kernel, self.space)
        normals = _normals(embedding.dimension, generator).to(embedding.amplitudes)
        cosine, sine = embedding.amplitudes * normals.reshape(2, -1)
        # a cos(p) + b sin(p) = sqrt(a^2 + b^2) cos(p - atan2(b, a)), at half the price.
        height, shift = torch.hypot(cosine, sine), torch.atan2(sine, cosine)

        def path(points: Tensor) -> Tensor:
            parts = points.split(ROWS_AT_ONCE)
            phases = (torch.addmm(-shift, part, embedding.frequencies.T) for part in parts)
            return torch.cat([phase.cos() @ height for phase in phases])

        return path


@dataclass(eq=False)
class _ListedPaths:
    """Draws by the kernel's values at a dictionary of points."""

    embedding: NystromEmbedding
    points: Tensor  # (A, d), at which the kernel's values are looked up
    columns: Tensor  # (A, r)
    missing: float  # share of the prior variance that the draws lack

    @classmethod
    def of(cls, kernel: Kernel, space: Space, work: int) -> _ListedPaths:
        generator = torch.Generator().manual_seed(0)  # the choice is the same in every run
        if isinstance(space, Arms):
            points = listed = space.points
            tried = points[torch.randperm(len(points), generator=generator)[:_TRIED]]
        else:
            ends = torch.stack([space.lower, space.upper])
            points, listed = space.snap(torch.cat([space.sample(_GRID, generator), ends])), ends
            tried = space.sample(_TRIED, generator)
        rank = min(len(points), math.isqrt(work // len(points)))
        embedding = NystromEmbedding.of(kernel, points, rank)
        residual = embedding.residual(tried, embedding(tried))
        variance = kernels.diagonal(kernel, tried).mean().clamp_min(TINY)
        columns = kernels.block(kernel, listed, embedding.dictionary)
        return cls(embedding, listed, columns, float(residual.mean() / variance))

    def __call__(self, generator: torch.Generator) -> Path:
        normals = _normals(self.embedding.dimension, generator).to(self.columns)
        weights = self.embedding.inverse_root.T @ normals

        def path(points: Tensor) -> Tensor:
            if points is self.points:
                return self.columns @ weights
            return kernels.block(self.embedding.kernel, points, self.embedding.dictionary) @ weights

        return path


def _normals(number: int, generator: torch.Generator) -> Tensor:
    return torch.randn(number, dtype=torch.float64, generator=generator)


def _has_spectrum(kernel: Kernel) -> bool:
    """Whether `RandomFourier` knows the spectrum of a kernel of all coordinates."""
    from gpytorch.kernels import MaternKernel, RBFKernel

    base = kernel.base_kernel if type(kernel) in SCALE_KERNELS else kernel
    known = type(base) in (RBFKernel, MaternKernel)
    return known and kernel.active_dims is None and base.active_dims is None

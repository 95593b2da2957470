"""Fourier features: a stationary kernel as a sum of waves."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.special import roots_hermite
from torch import Tensor
from torch.nn.functional import linear

from surefoot._internal import checks
from surefoot._internal.brief import brief
from surefoot._internal.user_warnings import warn
from surefoot.features.features import fixed_features
from surefoot.regression.draws import Path, ResidualDraw, no_residual
from surefoot.spaces import Space
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.regression.regression import Regression

MOST_FEATURES = 16384


@dataclass(frozen=True, eq=False)
class FourierEmbedding:
    """phi(x) = [a cos(omega^T x), a sin(omega^T x)]; ||phi(x)||^2 = k(x, x) everywhere."""

    frequencies: Tensor  # (w, d)
    amplitudes: Tensor  # (w,)

    __repr__ = brief

    @property
    def dimension(self) -> int:
        """m, the number of features."""
        return 2 * len(self.frequencies)

    def __call__(self, points: Tensor) -> Tensor:
        """Features (n, m) of points (n, d)."""
        waves, shifts, heights = self._stacked
        return linear(points, waves, shifts).cos() * heights

    @cached_property
    def _stacked(self) -> tuple[Tensor, Tensor, Tensor]:
        """Waves (m, d), shifts (m,) and heights (m,) of all features, as sin p = cos(p - pi / 2).

        With few points, the price is that of calls: three instead of seven.
        """
        with torch.inference_mode(False):  # kept for calls that need gradients
            shifts = self.amplitudes.new_zeros(2, len(self.amplitudes))
            shifts[1] = -0.5 * math.pi
            return self.frequencies.repeat(2, 1), shifts.flatten(), self.amplitudes.repeat(2)

    def residual(self, points: Tensor, features: Tensor) -> Tensor:
        """[k(x, x) - ||phi(x)||^2]+ at points (n, d) with features (n, m), as (n,)."""
        return features.new_zeros(len(features))

    def cross_residual(
        self, left: Tensor, left_features: Tensor, right: Tensor, right_features: Tensor
    ) -> Tensor:
        """k(x, x') - phi(x)^T phi(x') of points (..., n, d) and (..., p, d), as (..., n, p)."""
        return left_features.new_zeros(*left_features.shape[:-1], right_features.shape[-2])

    def residual_draw(self, prior: Callable[[], Path]) -> ResidualDraw:
        """A draw of the residual process, which is 0."""
        return no_residual(self.amplitudes, self.dimension)


@dataclass(frozen=True)
class QuadratureFourier:
    r"""Gauss-Hermite quadrature of the squared exponential kernel's spectrum (QFF).

    With `nodes` nodes z and weights w on each axis,
    :math:`\omega = \sqrt{2} z / l` and :math:`\nu = \prod w_i / \sqrt{\pi}`. Nodes come in pairs
    +-z that span the same functions, so each pair is folded into one of twice the weight, which
    leaves nodes^d features. A sum of kernels of groups of coordinates (`kernels.additive`) has the
    features of each group, nodes^(size of the group). The error of the kernel, a sum over groups,
    falls faster than exponentially in `nodes` once there are more than 1 / l^2, with l the smallest
    lengthscale relative to the extent of the space in that coordinate (`error_bound`, for the unit
    cube); with fewer, a run starts with a warning.

    Args:
        nodes: Number of nodes on each axis, even; the grid has nodes^d features in d dimensions,
            and in those of each group of an additive kernel.
        folded: Whether pairs of nodes are folded. Without, there are 2 nodes^d features, a cosine
            and a sine of every node, as in the paper. The kernel is the same; widths that
            grow with the number of features are larger, and thresholds that fall with it smaller.

    Raises:
        InvalidInput: If `nodes` is odd or below 2, or `folded` is not a boolean; at the start of a
            run, for a kernel that is not squared exponential, and for more than 16384 features.

    References:
        Mutny and Krause 2018, "Efficient high dimensional Bayesian optimization with additivity
        and quadrature Fourier features", Definition 1 and Theorem 1, and their sums
        over groups of coordinates.

    Example:
        >>> import surefoot as sf
        >>> features = sf.QuadratureFourier(nodes=32)
        >>> features.error_bound(lengthscale=0.2) < 1e-6
        True
    """

    nodes: int = 32
    folded: bool = True

    def __post_init__(self) -> None:
        checks.count("nodes", self.nodes, least=2)
        if self.nodes % 2:
            raise InvalidInput(f"`nodes` is {self.nodes}, expected an even number.")
        checks.truth("folded", self.folded)

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
        return fixed_features(self.embedding(kernel, space), kernel, space, ridge, lasting=lasting)

    def embedding(self, kernel: Kernel, space: Space) -> FourierEmbedding:
        """The feature map of a kernel.

        Args:
            kernel: A squared exponential kernel, or a sum of such kernels of some coordinates
                each, which may be scaled.
            space: Domain of the function; a warning is given if there are too few nodes for the
                lengthscale relative to its extent.

        Returns:
            The feature map.

        Raises:
            InvalidInput: For another kernel, or a grid of more than 16384 features.
        """
        parts = _summands(kernel, tuple(range(space.dimension)))
        self._check_size([len(part.coordinates) for part in parts])
        extent, device = _extent(space), space.lower.device
        relative = min(
            float((part.lengthscales / extent[list(part.coordinates)]).min()) for part in parts
        )
        if self.nodes <= 1.0 / relative / relative:
            warn(
                f"{self.nodes} nodes are too few for a lengthscale of {relative:.3g} of the "
                f"points' extent: pass more than 1 / l^2 = {1.0 / relative / relative:.0f}.",
            )
        grids = [self._grid(part, space.dimension) for part in parts]
        frequencies, amplitudes = (torch.cat(each).to(device) for each in zip(*grids, strict=True))
        return FourierEmbedding(frequencies, amplitudes)

    def _check_size(self, sizes: Sequence[int]) -> None:
        """`InvalidInput` for groups of as many coordinates with too large a grid."""
        number = (1 if self.folded else 2) * sum(self.nodes**size for size in sizes)
        if number > MOST_FEATURES:
            shown = number if number < 10**18 else "more than 10^18"
            one = "" if self.folded else "2 * "
            grids = " + ".join(f"{one}{self.nodes}^{size}" for size in sizes)
            raise InvalidInput(
                f"quadrature needs {grids} = {shown} features, expected at most {MOST_FEATURES}: "
                "pass fewer `nodes`, a kernel of small groups (`kernels.additive`), or Nyström "
                "features instead."
            )

    def _grid(self, part: _Summand, dimension: int) -> tuple[Tensor, Tensor]:
        """Frequencies (w, d) and amplitudes (w,) of a kernel of some of the coordinates."""
        nodes, weights = roots_hermite(self.nodes)
        size = len(part.coordinates)
        grid = np.array(list(product(nodes, repeat=size)))
        mass = np.array([math.prod(w) for w in product(weights, repeat=size)])
        if self.folded:
            half = grid[:, 0] > 0  # one of each pair: the other is its mirror image
            grid, mass = grid[half], 2.0 * mass[half]
        frequencies = torch.zeros(len(grid), dimension, dtype=torch.float64)
        unit = torch.from_numpy(math.sqrt(2.0) * grid)
        frequencies[:, list(part.coordinates)] = unit / part.lengthscales.cpu()
        return frequencies, torch.from_numpy(np.sqrt(part.variance * mass / math.pi ** (size / 2)))

    def error_bound(self, lengthscale: float, dimension: int = 1) -> float:
        """Bound on |k - phi'phi| for points in [0, 1]^d (Mutny and Krause 2018, Theorem 1).

        As published; it takes m! / (2 m)! for at most (e / 4 m)^m / sqrt(2), which it exceeds by
        2 % with 2 nodes and by 1 % with 4, so that errors near the bound can be larger by as much.

        Args:
            lengthscale: Lengthscale of the squared exponential kernel, the same on each axis.
            dimension: The number of coordinates d.

        Returns:
            The bound, for a kernel of variance 1; infinite where it exceeds 10^308.

        Raises:
            InvalidInput: If the lengthscale is not positive, or `dimension` not at least 1.
        """
        length = checks.positive("lengthscale", lengthscale)
        checks.count("dimension", dimension)
        log_bound = (
            math.log(dimension)
            + (dimension - 1) * math.log(2.0)
            + self.nodes * (1.0 - math.log(4.0) - 2.0 * math.log(length))
            - 0.5 * math.log(2.0)
            - self.nodes * math.log(self.nodes)
        )
        return float(torch.tensor(log_bound, dtype=torch.float64).exp())  # infinite, not an error


@dataclass(frozen=True)
class RandomFourier:
    """Random Fourier features of a squared exponential or Matérn kernel.

    A baseline: the error of the kernel falls only as 1 / sqrt(count), so that no sublinear regret
    is proved for it here, and its variance starves far from the data.

    Args:
        count: Number of features, even.
        seed: Seed of the frequencies.

    Raises:
        InvalidInput: If `count` is odd or below 2, or `seed` is negative; at the start of a run,
            for another kernel.

    References:
        Rahimi and Recht 2007, "Random features for large-scale kernel machines".

    Example:
        >>> import surefoot as sf
        >>> space, kernel = sf.Box([0.0], [1.0]), sf.kernels.matern(2.5, 0.3)
        >>> features = sf.RandomFourier(64, seed=1)
        >>> optimizer = sf.Optimizer(space, sf.Method(kernel, features=features))
        >>> optimizer.tell([0.5], 1.0).dimension
        64
    """

    count: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        checks.count("count", self.count, least=2)
        checks.count("seed", self.seed, least=0)
        if self.count % 2:
            raise InvalidInput(f"`count` is {self.count}, expected an even number.")

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
        return fixed_features(self.embedding(kernel, space), kernel, space, ridge, lasting=lasting)

    def embedding(self, kernel: Kernel, space: Space) -> FourierEmbedding:
        """The feature map of a kernel.

        Args:
            kernel: A squared exponential or Matérn kernel, which may be scaled.
            space: Where the function is defined.

        Returns:
            The feature map.

        Raises:
            InvalidInput: For another kernel.
        """
        from gpytorch.kernels import MaternKernel, RBFKernel

        base, variance = _unscaled(kernel)
        if not isinstance(base, RBFKernel | MaternKernel):
            raise InvalidInput(
                f"random Fourier features are for squared exponential and Matérn kernels, got "
                f"{type(base).__name__}: pass Nyström or exact features."
            )
        generator = torch.Generator().manual_seed(self.seed)
        waves, dimension, device = self.count // 2, space.dimension, space.lower.device
        draws = torch.randn(waves, dimension, dtype=torch.float64, generator=generator)
        if not isinstance(base, RBFKernel):  # the Matérn spectrum: Student-t of 2 nu degrees
            normals = torch.randn(waves, int(2 * base.nu), dtype=torch.float64, generator=generator)
            draws = draws / normals.square().mean(-1, keepdim=True).sqrt()
        lengthscale = base.lengthscale.detach().reshape(-1)
        amplitudes = torch.full((waves,), math.sqrt(variance / waves), dtype=torch.float64)
        return FourierEmbedding(draws.to(device) / lengthscale, amplitudes.to(device))


@dataclass(frozen=True)
class _Summand:
    """A squared exponential kernel of some of the coordinates."""

    coordinates: tuple[int, ...]
    lengthscales: Tensor  # of each of these
    variance: float


def _summands(
    kernel: Kernel, coordinates: tuple[int, ...], variance: float = 1.0
) -> list[_Summand]:
    """The squared exponential kernels of a sum; `InvalidInput` for any other kernel."""
    from gpytorch.kernels import AdditiveKernel, RBFKernel, ScaleKernel

    if kernel.active_dims is not None:
        coordinates = tuple(coordinates[index] for index in kernel.active_dims.tolist())
    if isinstance(kernel, ScaleKernel):  # it has the `active_dims` of its base kernel
        base = kernel.base_kernel
        if kernel.active_dims is not None and base.active_dims is not None:
            base = copy.deepcopy(base)
            base.active_dims = None
        return _summands(base, coordinates, variance * float(kernel.outputscale))
    if isinstance(kernel, AdditiveKernel):
        return [part for each in kernel.kernels for part in _summands(each, coordinates, variance)]
    if type(kernel) is not RBFKernel:
        raise InvalidInput(
            f"quadrature Fourier features are for the squared exponential kernel, got "
            f"{type(kernel).__name__}: pass `kernels.squared_exponential(l)`, or Nyström features."
        )
    lengthscales = kernel.lengthscale.detach().reshape(-1).expand(len(coordinates))
    return [_Summand(coordinates, lengthscales, variance)]


def _unscaled(kernel: Kernel) -> tuple[Kernel, float]:
    from gpytorch.kernels import ScaleKernel

    scaled = isinstance(kernel, ScaleKernel)
    base, variance = (kernel.base_kernel, float(kernel.outputscale)) if scaled else (kernel, 1.0)
    if any(part.active_dims is not None for part in (kernel, base)):
        raise InvalidInput(
            "Fourier features are for kernels of all coordinates, got one with `active_dims`: "
            "pass Nyström or exact features."
        )
    return base, variance


def _extent(space: Space) -> Tensor:
    extent = space.upper - space.lower
    return torch.where(extent > 0, extent, torch.ones_like(extent))

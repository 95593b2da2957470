"""Functions on arms that lie in the space of a kernel, with their norm in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal import checks
from surefoot.spaces import Arms
from surefoot.types import InvalidInput
from surefoot_experiments.problems.noise import Generator, uniform

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_LENGTHSCALE = 0.2
_RANK = 1e-10  # of the largest eigenvalue, below which a matrix has none


@dataclass(frozen=True, eq=False)
class KernelFunction:
    """A function on arms and the kernel in whose reproducing space it has norm `norm`."""

    space: Arms
    kernel: Kernel
    values: Tensor  # (A,)
    norm: float


def random_function(
    generator: Generator,
    kernel: Kernel | None = None,
    *,
    arms: int = 100,
    dimension: int = 1,
    supports: int = 100,
    least: float = -1.0,
) -> KernelFunction:
    """f = sum of a_i k(., x_i), scaled to max|f| = 1, on arms of [0, 1]^d.

    Support points x_i are arms, drawn with replacement; coefficients are uniform in [least, 1], so
    that `least` = 0 gives a positive f for a positive kernel. Arms are evenly spaced on a line and
    uniform points in more dimensions. The kernel is squared exponential with lengthscale 0.2
    unless given. The norm sqrt(a'Ka) is exact. Chowdhury and Gopalan 2019 (heavy-tailed payoffs),
    section 6.
    """
    number = checks.count("arms", arms, least=2)
    coordinates = checks.count("dimension", dimension)
    total = checks.count("supports", supports)
    if not -1.0 <= least < 1.0:
        raise InvalidInput(f"`least` is {least}, expected a number in [-1, 1).")
    points = (
        torch.linspace(0.0, 1.0, number, dtype=torch.float64).unsqueeze(-1)
        if coordinates == 1
        else torch.from_numpy(uniform((number, coordinates), generator))
    )
    kernel = kernel or kernels.squared_exponential(_LENGTHSCALE)
    where, height = torch.from_numpy(uniform((2, total), generator))
    support = (where * number).long().clamp_max(number - 1)
    coefficients = torch.zeros(number, dtype=torch.float64)
    coefficients.index_add_(0, support, least + (1.0 - least) * height)
    used = support.unique()
    with torch.no_grad():
        values = kernels.block(kernel, points, points[used]) @ coefficients[used]
    largest = float(values.abs().max())
    squared_norm = float(coefficients @ values)  # a'Ka
    return KernelFunction(Arms(points), kernel, values / largest, squared_norm**0.5 / largest)


def interpolant(
    values: Tensor,  # (A,)
    gram: Tensor,  # (A, A), of the kernel at arms without coordinates
) -> KernelFunction:
    """The function with these values in the space of a precomputed kernel: norm sqrt(f'K^{-1}f).

    Raises `InvalidInput` for values outside the range of K, which have no norm.
    """
    f = checks.vector("values", values)
    kernel = kernels.precomputed(gram)
    K = checks.matrix("gram", gram)
    if len(K) != len(f):
        raise InvalidInput(f"`gram` has {len(K)} rows, expected {len(f)}, one for each value.")
    eigenvalues, vectors = torch.linalg.eigh(K)
    parts = vectors.T @ f
    within = eigenvalues > _RANK * eigenvalues[-1]
    if float(parts[~within].norm()) > 1e-8 * float(f.norm()):
        raise InvalidInput(
            "`values` are not in the range of `gram`, so their norm is infinite: add a little to "
            "its diagonal."
        )
    norm = float((parts[within].square() / eigenvalues[within]).sum().sqrt())
    return KernelFunction(Arms(len(f)), kernel, f, norm)

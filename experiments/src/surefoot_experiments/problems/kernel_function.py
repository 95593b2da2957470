"""Functions on arms that lie in the space of a kernel, with their norm in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from surefoot import Arms, InvalidInput, kernels
from surefoot_experiments.problems.arguments import matrix, vector
from surefoot_experiments.problems.noise import Generator, uniform

Scaling = Literal["largest", "range"]
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
    scaling: Scaling = "largest",
) -> KernelFunction:
    """f = sum of a_i k(., x_i) on arms of [0, 1]^d, scaled.

    Support points x_i are arms, drawn with replacement; coefficients are uniform in [least, 1], so
    that `least` = 0 gives a positive f for a positive kernel. Arms are evenly spaced on a line and
    uniform points in more dimensions. The kernel is squared exponential with lengthscale 0.2
    unless given. Chowdhury and Gopalan 2019 (heavy-tailed payoffs), section 6.

    With `scaling` "largest", max|f| = 1, and the norm sqrt(a'Ka) is exact. With "range", f is
    mapped to [0, 1] by its minimum and maximum; the norm is then that of the function before the
    shift, since few kernels have constants in their space.
    """
    if scaling not in ("largest", "range"):
        raise InvalidInput(f"`scaling` is {scaling!r}, expected 'largest' or 'range'.")
    for name, number, minimum in (
        ("arms", arms, 2),
        ("dimension", dimension, 1),
        ("supports", supports, 1),
    ):
        if number < minimum:
            raise InvalidInput(f"`{name}` is {number}, expected an integer of at least {minimum}.")
    if not -1.0 <= least < 1.0:
        raise InvalidInput(f"`least` is {least}, expected a number in [-1, 1).")
    points = (
        torch.linspace(0.0, 1.0, arms, dtype=torch.float64).unsqueeze(-1)
        if dimension == 1
        else torch.from_numpy(uniform((arms, dimension), generator))
    )
    kernel = kernel or kernels.squared_exponential(_LENGTHSCALE)
    where, height = torch.from_numpy(uniform((2, supports), generator))
    support = (where * arms).long().clamp_max(arms - 1)
    coefficients = torch.zeros(arms, dtype=torch.float64)
    coefficients.index_add_(0, support, least + (1.0 - least) * height)
    used = support.unique()
    with torch.no_grad():
        values = kernels.block(kernel, points, points[used]) @ coefficients[used]
    shift, spread = 0.0, float(values.abs().max())
    if scaling == "range":
        shift, spread = float(values.min()), float(values.max() - values.min())
    norm = float(coefficients @ values) ** 0.5 / spread  # of a'Ka
    return KernelFunction(Arms(points), kernel, (values - shift) / spread, norm)


def interpolant(
    values: Tensor,  # (A,)
    gram: Tensor,  # (A, A), of the kernel at arms without coordinates
) -> KernelFunction:
    """The function with these values in the space of a precomputed kernel: norm sqrt(f'K^{-1}f).

    Raises `InvalidInput` for values outside the range of K, which have no norm.
    """
    f = vector("values", values)
    kernel = kernels.precomputed(gram)
    K = matrix("gram", gram)
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

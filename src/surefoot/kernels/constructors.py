"""Kernels by their field names, as GPyTorch modules, and their dense blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_SYMMETRY = 1e-10
_PSD = 1e-8


def squared_exponential(lengthscale: float | Sequence[float] | Tensor) -> Kernel:
    """k(x, x') = exp(-||x - x'||^2 / (2 l^2)), with one lengthscale or one for each dimension."""
    from gpytorch.kernels import RBFKernel

    scales = _lengthscales(lengthscale)
    return _stationary(RBFKernel(ard_num_dims=_ard(scales)), scales)


def matern(nu: float, lengthscale: float | Sequence[float] | Tensor) -> Kernel:
    """Matérn kernel of smoothness `nu` in (0, 50], one lengthscale or one for each dimension.

    Functions have derivatives up to the order below `nu`. 0.5, 1.5 and 2.5 are GPyTorch's closed
    forms; any other takes Bessel functions on the CPU, about half a microsecond for a value.
    Rasmussen and Williams 2006, eq. 4.14.
    """
    from gpytorch.kernels import MaternKernel

    from surefoot.kernels.general_matern import LARGEST_NU, GeneralMaternKernel

    smoothness = checks.positive("nu", nu)
    if smoothness > LARGEST_NU:
        raise InvalidInput(
            f"`nu` is {nu!r}, expected at most {LARGEST_NU:g}: pass `kernels.squared_exponential`, "
            "the limit for large `nu`."
        )
    scales = _lengthscales(lengthscale)
    family = MaternKernel if smoothness in (0.5, 1.5, 2.5) else GeneralMaternKernel
    return _stationary(family(nu=smoothness, ard_num_dims=_ard(scales)), scales)


def linear() -> Kernel:
    """k(x, x') = x'x."""
    from gpytorch.kernels import LinearKernel

    kernel = LinearKernel().double()
    kernel.variance = torch.tensor(1.0, dtype=torch.float64)
    return kernel.requires_grad_(False)


def scaled(kernel: Kernel, variance: float) -> Kernel:
    """The kernel times a variance: k(x, x') -> variance k(x, x')."""
    from gpytorch.kernels import ScaleKernel

    outer = ScaleKernel(kernel).double()
    outer.outputscale = torch.tensor(checks.positive("variance", variance), dtype=torch.float64)
    return outer.requires_grad_(False)


def precomputed(K: Tensor | Sequence) -> Kernel:
    """The kernel whose value between arms i and j is K[i, j], for `Arms(len(K))`.

    Raises `InvalidInput` unless `K` (A, A) is symmetric and positive semidefinite.
    """
    from surefoot.kernels.precomputed_kernel import PrecomputedKernel

    gram = checks.matrix("K", K)
    if gram.shape[0] != gram.shape[1]:
        raise InvalidInput(f"`K` has shape {tuple(gram.shape)}, expected a square matrix.")
    scale = max(float(gram.abs().max()), torch.finfo(torch.float64).tiny)
    skew = float((gram - gram.T).abs().max())
    if skew > _SYMMETRY * scale:
        raise InvalidInput(
            f"`K` is not symmetric (K and its transpose differ by {skew:.3g}): pass (K + K.T) / 2."
        )
    least = float(torch.linalg.eigvalsh(gram)[0])
    if least < -_PSD * scale:
        raise InvalidInput(
            f"`K` is not positive semidefinite (least eigenvalue {least:.3g}): "
            "pass a Gram or correlation matrix, or clip its eigenvalues at 0."
        )
    return PrecomputedKernel(gram)


def custom(block: Callable[[Tensor, Tensor], Tensor]) -> Kernel:
    """A positive definite kernel of your own, on anything that can be numbered.

    `block` takes points (n, d) and (m, d), which on `Arms` without coordinates are their indices
    as (n, 1) and (m, 1), and gives the values (n, m). So arms can be strings, graphs or images in
    a list. It is not in a saved file: pass it again to `Optimizer.load`.
    """
    from surefoot.kernels.custom_kernel import CustomKernel

    if not callable(block):
        raise InvalidInput(f"`block` is {block!r}, expected a function of two sets of points.")
    return CustomKernel(block)


def _lengthscales(lengthscale: float | Sequence[float] | Tensor) -> Tensor:
    try:
        scales = torch.as_tensor(lengthscale, dtype=torch.float64).detach().reshape(-1)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInput(
            f"`lengthscale` is {lengthscale!r}, expected finite numbers above 0."
        ) from error
    if scales.numel() == 0 or not bool((torch.isfinite(scales) & (scales > 0)).all()):
        raise InvalidInput(f"`lengthscale` is {lengthscale!r}, expected finite numbers above 0.")
    return scales


def _ard(scales: Tensor) -> int | None:
    return len(scales) if len(scales) > 1 else None


def _stationary(kernel: Kernel, scales: Tensor) -> Kernel:
    kernel = kernel.double()
    kernel.lengthscale = scales
    return kernel.requires_grad_(False)

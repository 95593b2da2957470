"""Matérn kernel of any smoothness, by Bessel functions, as a GPyTorch kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gpytorch.kernels import Kernel
from numpy.typing import NDArray
from scipy.special import kve, rgamma
from torch import Tensor
from torch.autograd.function import once_differentiable

from surefoot._internal.linalg import distances

Array = NDArray[np.float64]

MAX_NU = 50.0  # beyond it z^nu K_nu(z) leaves the range of floats, and the limit is close
_MAX_Z = 1e4  # where the kernel underflows to 0, and SciPy's K_nu is still finite


class GeneralMaternKernel(Kernel):
    r"""Matérn kernel of any smoothness.

    :math:`k(r) = 2^{1-\nu} / \Gamma(\nu) \; z^\nu K_\nu(z)`, :math:`z = \sqrt{2 \nu} r`, for a
    distance of r lengthscales. The Bessel functions are SciPy's and run on the CPU, whatever the
    device of the points. Differentiable once, in the points and the lengthscales; the gradient is
    0 where points coincide.

    Args:
        nu: Smoothness in (0, 50].
        **options: Options of `gpytorch.kernels.Kernel`, such as `ard_num_dims`.

    References:
        Rasmussen and Williams 2006, eq. 4.14.

    Example:
        >>> import torch
        >>> kernel = GeneralMaternKernel(0.5).double().requires_grad_(False)
        >>> kernel.lengthscale = 1.0
        >>> x = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
        >>> kernel(x).to_dense().round(decimals=4)  # exp(-r)
        tensor([[1.0000, 0.3679],
                [0.3679, 1.0000]], dtype=torch.float64)
    """

    has_lengthscale = True

    def __init__(self, nu: float, **options: Any) -> None:
        super().__init__(**options)
        self.nu = nu

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        """Values between points, in GPyTorch's conventions.

        Args:
            x1: Points (..., n, d).
            x2: Points (..., m, d).
            diag: Whether to evaluate pairs, n = m.
            **params: Ignored.

        Returns:
            (..., n, m), or (..., n) with `diag`.
        """
        center = x1.detach().mean(dim=-2, keepdim=True)
        left, right = (x1 - center) / self.lengthscale, (x2 - center) / self.lengthscale
        if diag:
            distance = torch.linalg.vector_norm(left - right, dim=-1)
        else:
            distance = distances(left, right)  # an error changes a rough kernel considerably
        return _Correlation.apply(math.sqrt(2.0 * self.nu) * distance, self.nu)


class _Correlation(torch.autograd.Function):
    """The kernel as a function of z."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, nu: float) -> Tensor:
        ctx.save_for_backward(z)
        ctx.nu = nu
        return _elementwise(_correlation, z, nu)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (z,) = ctx.saved_tensors
        return gradient * _elementwise(_slope, z, ctx.nu), None


def _correlation(z: Array, nu: float) -> Array:
    bessel = kve(nu, z)
    # K_nu overflows close to 0, where terms beyond z^2 are below rounding. So is z^2 itself unless
    # nu is well above 1; near 1 its exact factor 1 / (nu - 1) is unbounded.
    series = 1.0 - z**2 / (4.0 * max(nu - 1.0, 0.5))
    return np.minimum(np.where(np.isinf(bessel), series, _normalised(bessel, z, nu)), 1.0)


def _slope(z: Array, nu: float) -> Array:
    """dk/dz, from d/dz (z^nu K_nu(z)) = -z^nu K_{nu-1}(z) (DLMF 10.29.4); 0 at z = 0."""
    bessel = kve(nu - 1.0, z)
    series = -z / (2.0 * max(nu - 1.0, 0.5))
    return np.where(np.isinf(bessel), series, -_normalised(bessel, z, nu))


def _normalised(bessel: Array, z: Array, nu: float) -> Array:
    """2^{1-nu} / Gamma(nu) z^nu K(z), for `bessel` = e^z K(z)."""
    return 2.0 ** (1.0 - nu) * rgamma(nu) * (z**nu * np.exp(-z) * bessel)


def _elementwise(function: Callable[[Array, float], Array], z: Tensor, nu: float) -> Tensor:
    array = z.detach().cpu().double().numpy().clip(max=_MAX_Z)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        return torch.as_tensor(function(array, nu)).to(z)

"""Squared exponential, Matérn and linear kernels, and kernels times a variance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy

import torch
from gpytorch.kernels import (
    AdditiveKernel,
    Kernel,
    LinearKernel,
    MaternKernel,
    RBFKernel,
    ScaleKernel,
)
from torch import Tensor

from surefoot._internal import checks
from surefoot.kernels.families import of_kind
from surefoot.types import InvalidInput


def check(kernel: object) -> None:
    """Refuse what is no kernel.

    Args:
        kernel: Expected to be a GPyTorch kernel.

    Raises:
        InvalidInput: If it is not.

    Example:
        >>> from surefoot import kernels
        >>> check(kernels.linear())
    """
    if not isinstance(kernel, Kernel):
        raise InvalidInput(
            f"`kernel` is {checks.shown(kernel)}, expected a GPyTorch kernel such as "
            "`kernels.squared_exponential(0.2)`, `matern`, `linear`, `precomputed` or your own."
        )


class ScaledKernel(ScaleKernel):
    """A GPyTorch `ScaleKernel` whose batch shape is that of its base kernel.

    `ScaleKernel` computes it by `torch.broadcast_shapes`, which imports sympy: 500 modules, a third
    of a second in every process that fits a model.
    """

    @property
    def batch_shape(self) -> torch.Size:
        return self.base_kernel.batch_shape

    @batch_shape.setter
    def batch_shape(self, shape: torch.Size) -> None:
        self._batch_shape = shape


SCALE_KERNELS = (ScaleKernel, ScaledKernel)
CLOSED_FORMS = (0.5, 1.5, 2.5)  # smoothness of Matérn kernels


def squared_exponential(lengthscale: float | Sequence[float] | Tensor) -> Kernel:
    r"""Squared exponential (Gaussian, RBF) kernel with unit variance.

    :math:`k(x, x') = \exp(-\tfrac{1}{2} \sum_i (x_i - x'_i)^2 / \ell_i^2)`.

    Args:
        lengthscale: One number for all coordinates, or (d,) for automatic relevance determination
            (ARD), in the units of the coordinates; above 0.

    Returns:
        A GPyTorch `RBFKernel`.

    Raises:
        InvalidInput: If a lengthscale is not a finite number above 0.

    References:
        Rasmussen and Williams 2006, eq. 4.9.

    Example:
        >>> import torch
        >>> kernel = squared_exponential(0.5)
        >>> x = torch.tensor([[0.0], [0.5]], dtype=torch.float64)
        >>> kernel(x).to_dense().round(decimals=4)
        tensor([[1.0000, 0.6065],
                [0.6065, 1.0000]], dtype=torch.float64)
    """
    return of_kind(RBFKernel, _lengthscales(lengthscale))


def matern(nu: float, lengthscale: float | Sequence[float] | Tensor) -> Kernel:
    """Matérn kernel with unit variance.

    Sample paths are differentiable up to the largest order below `nu`.

    Args:
        nu: Smoothness 0.5, 1.5 or 2.5, the first argument: `matern(2.5, 0.2)` has lengthscale 0.2.
        lengthscale: One number for all coordinates, or (d,) for ARD, in the units of the
            coordinates; above 0.

    Returns:
        A GPyTorch `MaternKernel`.

    Raises:
        InvalidInput: If `nu` is another number, or a lengthscale is not a finite number above 0.

    References:
        Rasmussen and Williams 2006, eq. 4.14.

    Example:
        >>> import torch
        >>> kernel = matern(2.5, lengthscale=[0.2, 0.7])
        >>> x = torch.zeros(3, 2, dtype=torch.float64)
        >>> kernel(x).to_dense().shape
        torch.Size([3, 3])
    """
    smoothness = checks.positive("nu", nu)
    if smoothness not in CLOSED_FORMS:
        raise InvalidInput(
            f"`nu` is {nu!r}, expected 0.5, 1.5 or 2.5, which have closed forms; the limit for "
            "large `nu` is `kernels.squared_exponential`, and `kernels.custom` takes any function."
        )
    return of_kind(MaternKernel, _lengthscales(lengthscale), nu=smoothness)


def linear() -> Kernel:
    r"""Linear kernel, :math:`k(x, x') = x^\top x'`, for functions linear in the coordinates.

    Returns:
        A GPyTorch `LinearKernel` with variance 1.

    Example:
        >>> import torch
        >>> x = torch.tensor([[1.0, 2.0]], dtype=torch.float64)
        >>> linear()(x).to_dense().item()
        5.0
    """
    kernel = LinearKernel().double()
    kernel.variance = torch.tensor(1.0, dtype=torch.float64)
    return kernel.requires_grad_(False)


def additive(parts: Mapping[tuple[int, ...], Kernel]) -> Kernel:
    r"""Sum of kernels of groups of coordinates, for functions that are such sums.

    :math:`k(x, x') = \sum_g k_g(x_g, x'_g)`. Information gain and quadrature Fourier features grow
    with the largest group instead of all coordinates.

    Args:
        parts: Kernel of each group, by the indices of its coordinates. The kernels are copied.
            Their variances add up: with `scaled(kernel, 1 / G)` of G groups the sum has variance 1.

    Returns:
        A GPyTorch `AdditiveKernel`.

    Raises:
        InvalidInput: If there is no group, a group is not of distinct indices from 0, or a kernel
            is none of all coordinates.

    References:
        Kandasamy, Schneider and Poczos 2015, "High dimensional Bayesian optimisation and bandits
        via additive models"; Mutny and Krause 2018, for Fourier features.

    Example:
        >>> import torch
        >>> half = scaled(squared_exponential(0.2), 0.5)
        >>> kernel = additive({(0, 2): half, (1,): half})
        >>> x = torch.tensor([[0.1, 0.4, 0.3], [0.1, 9.0, 0.3]], dtype=torch.float64)
        >>> kernel(x).to_dense()
        tensor([[1.0000, 0.5000],
                [0.5000, 1.0000]], dtype=torch.float64)
    """
    if not isinstance(parts, Mapping) or not parts:
        raise InvalidInput(
            f"`parts` is {checks.shown(parts)}, expected a kernel for each group of coordinates, "
            "as in `{(0, 2): kernel, (1,): kernel}`."
        )
    summands = []
    for group, kernel in parts.items():
        indices = checks.indices("parts", group)
        if not indices or len(set(indices)) < len(indices) or min(indices) < 0:
            raise InvalidInput(
                f"a group of `parts` is {checks.shown(group)}, expected distinct indices of "
                "coordinates from 0, such as (0, 2)."
            )
        check(kernel)
        if kernel.active_dims is not None:
            raise InvalidInput(
                f"the kernel of {group} has `active_dims`: leave the coordinates to the group."
            )
        own = deepcopy(kernel)
        own.active_dims = torch.tensor(indices)
        summands.append(own)
    return AdditiveKernel(*summands)


def scaled(kernel: Kernel, variance: float) -> Kernel:
    """A kernel times a variance: variance * k(x, x').

    Args:
        kernel: Any GPyTorch kernel.
        variance: Prior variance of the function, in squared (standardised) reward units; above 0.

    Returns:
        A `ScaledKernel`, which is a GPyTorch `ScaleKernel`.

    Raises:
        InvalidInput: If `kernel` is not a GPyTorch kernel, or `variance` not a finite number
            above 0.

    Example:
        >>> import torch
        >>> kernel = scaled(squared_exponential(0.2), variance=4.0)
        >>> kernel(torch.zeros(1, 1, dtype=torch.float64)).to_dense().item()
        4.0
    """
    check(kernel)
    outer = ScaledKernel(kernel).double()
    outer.outputscale = torch.tensor(checks.positive("variance", variance), dtype=torch.float64)
    return outer.requires_grad_(False)


def _lengthscales(lengthscale: float | Sequence[float] | Tensor) -> Tensor:
    with suppress(InvalidInput):
        scales = checks.tensor("lengthscale", lengthscale).reshape(-1)
        if scales.numel() > 0 and bool((scales > 0).all()):
            return scales
    raise InvalidInput(
        f"`lengthscale` is {checks.shown(lengthscale)}, expected finite numbers above 0."
    )

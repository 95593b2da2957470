"""How far functions of bounded norm can vary over a distance, by the metric of their kernel."""

from __future__ import annotations

import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel
from torch import Tensor

from surefoot.kernels.evaluation import block
from surefoot.kernels.general_matern import GeneralMaternKernel
from surefoot.kernels.parametric import SCALE_KERNELS
from surefoot.types import InvalidInput

_RADIAL = (RBFKernel, MaternKernel, GeneralMaternKernel)


def radial_lengthscales(kernel: Kernel, dimension: int) -> Tensor:
    """The lengthscales of a kernel that decreases in the distance measured in them.

    Args:
        kernel: Squared exponential or Matérn, also times a variance.
        dimension: Number of coordinates d.

    Returns:
        Lengthscales (d,).

    Raises:
        InvalidInput: For any other kernel, or one of another number of coordinates.

    Example:
        >>> import surefoot as sf
        >>> radial_lengthscales(sf.kernels.squared_exponential(0.5), 2)
        tensor([0.5000, 0.5000], dtype=torch.float64)
    """
    radial = kernel
    while type(radial) in SCALE_KERNELS:
        radial = radial.base_kernel
    if not isinstance(radial, _RADIAL) or radial.active_dims is not None:
        raise InvalidInput(
            f"`kernel` is a {type(radial).__name__}, expected `kernels.squared_exponential` or "
            "`kernels.matern`, also `scaled`: the variation of a function over a cell is known for "
            "kernels that decrease in the distance."
        )
    scales = radial.lengthscale.detach().double().reshape(-1)
    if len(scales) not in (1, dimension):
        raise InvalidInput(
            f"`kernel` has {len(scales)} lengthscales, expected one, or {dimension}, one for each "
            "coordinate."
        )
    return scales.expand(dimension)


def variation(kernel: Kernel, offsets: Tensor) -> Tensor:
    r"""The largest difference of a function of norm 1 over given offsets.

    :math:`d_k(x, x') = \sqrt{k(x, x) + k(x', x') - 2 k(x, x')}`, of a kernel that depends on the
    offset x - x' alone. For one that decreases in every coordinate of it, this is also a bound for
    all smaller offsets.

    Args:
        kernel: A stationary kernel.
        offsets: Offsets (n, d).

    Returns:
        Bounds (n,) on |f(x) - f(x')| for every f with ||f|| <= 1.

    References:
        Rando et al. 2022 (Ada-BKB), Assumption 2.

    Example:
        >>> import torch
        >>> import surefoot as sf
        >>> offsets = torch.tensor([[0.0], [0.5], [50.0]], dtype=torch.float64)
        >>> variation(sf.kernels.squared_exponential(0.5), offsets).round(decimals=4)
        tensor([0.0000, 0.8871, 1.4142], dtype=torch.float64)
    """
    origin = torch.zeros_like(offsets[:1])
    with torch.no_grad():
        at_zero, away = block(kernel, origin, torch.cat([origin, offsets]))[0].split(
            [1, len(offsets)]
        )
    return (2.0 * (at_zero - away)).clamp_min(0.0).sqrt()

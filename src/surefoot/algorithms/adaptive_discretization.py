"""GP-UCB with a budget on a box, which is discretised where the function may be large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch

from surefoot._internal import checks
from surefoot.acquisition import AdaptivePartition
from surefoot.algorithms._defaults import width_or
from surefoot.algorithms.budgeted import bkb
from surefoot.estimators import Estimator
from surefoot.optimizer import Optimizer
from surefoot.spaces import Box
from surefoot.widths import Width, sketch_determinant

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def ada_bkb(
    space: Box,
    kernel: Kernel,
    *,
    noise: float,
    norm_bound: float,
    branching: int = 3,
    max_depth: int = 20,
    oversampling: float | None = None,
    horizon: int | None = None,
    delta: float = 0.1,
    accuracy: float = 0.5,
    inclusion: Literal["per-pull", "per-arm"] = "per-pull",
    estimator: Estimator | None = None,
    width: Width | None = None,
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    r"""Ada-BKB: BKB on a box, over the cells of a partition that is refined as it learns.

    The next point is the centre of the cell with the largest upper bound of the function, which
    takes no search in the box: a cell is split once its centre is known to within the variation
    of the function over the cell (`acquisition.AdaptivePartition`). The first point is random.
    Rewards of any other points may be told as well.

    Args:
        space: A `Box` of continuous coordinates.
        kernel: The prior covariance, squared exponential or Matérn, also `scaled`.
        noise: Sub-Gaussian constant xi of the noise, in reward units.
        norm_bound: Bound F on the norm of f, in reward units.
        branching: Number N of cells that a cell is split into, at least 2.
        max_depth: Depth of the smallest cells, which measure N^(-max_depth / d) of the box along
            each of d coordinates of equal lengthscale.
        oversampling: Factor q-bar of the inclusion probability min(1, q-bar sigma^2 / lambda).
            None computes that of the theory from `horizon`, `delta` and `accuracy`, which includes
            nearly all measured points. The bounds hold for any, and 5 suffices in practice.
        horizon: Number of rounds T for the theory's q-bar; None finds it by doubling.
        delta: Probability with which the bounds may fail.
        accuracy: Relative accuracy epsilon of the sketched variance.
        inclusion: "per-pull" gives a point of n pulls n chances, "per-arm" a single one.
        estimator: Estimator of the coefficients; least squares by default.
        width: The width in place of `widths.sketch_determinant`, which holds for any dictionary.
            With narrower bounds, such as those of `dual_mixture`, far more cells are split.
        ridge: Regularisation lambda, in squared reward units.
        scale: Factor of that width and of the variation of f over a cell.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, or the space or the kernel is of another
            kind.

    References:
        Rando, Carratino, Villa and Rosasco 2022, "Ada-BKB: scalable Gaussian process optimization
        on continuous domains by adaptive discretization", Algorithm 1.

    Example:
        >>> import surefoot as sf
        >>> box = sf.Box([0.0, 0.0], [1.0, 1.0])
        >>> kernel = sf.kernels.squared_exponential(0.3)
        >>> optimizer = sf.algorithms.ada_bkb(
        ...     box, kernel, noise=0.1, norm_bound=1.0, oversampling=5.0
        ... )
        >>> info = optimizer.tell([0.9, 0.9], 0.2)
        >>> optimizer.ask().point.tolist()
        [0.5, 0.5]
    """
    factor = checks.positive("scale", scale)
    norm = checks.positive("norm_bound", norm_bound)
    return bkb(
        space,
        kernel,
        noise=noise,
        norm_bound=norm,
        oversampling=oversampling,
        horizon=horizon,
        delta=delta,
        accuracy=accuracy,
        inclusion=inclusion,
        estimator=estimator,
        width=width_or(width, factor, sketch_determinant(norm, noise, delta, factor)),
        policy=AdaptivePartition(kernel, factor * norm, branching, max_depth),
        ridge=ridge,
        seed=seed,
        device=device,
    )

"""GP-UCB, the algorithm that the others start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from surefoot.algorithms._defaults import width_or
from surefoot.estimators import LeastSquares
from surefoot.features import Exact, Features
from surefoot.optimizer import Optimizer
from surefoot.spaces import Space
from surefoot.widths import Width, srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def gp_ucb(
    space: Space,
    kernel: Kernel,
    *,
    features: Features | None = None,
    width: Width | None = None,
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """GP-UCB, on rewards as they are.

    Args:
        space: `Arms` or `Box`.
        kernel: The prior covariance.
        features: The feature map; exact by default.
        width: The width in place of `widths.srinivas(scale=scale)`.
        ridge: Regularization, the noise variance in reward units.
        scale: Factor of the default width.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, or `scale` came beside `width`.

    References:
        Srinivas, Krause, Kakade and Seeger 2010, "Gaussian process optimization in the bandit
        setting", Algorithm 1.

    Example:
        >>> import surefoot as sf
        >>> space, kernel = sf.Box([0.0], [1.0]), sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.algorithms.gp_ucb(space, kernel, ridge=0.01)
        >>> for _ in range(8):
        ...     query = optimizer.ask()
        ...     info = optimizer.tell(query, -float((query.point - 0.3).square()))
        >>> abs(float(optimizer.recommend().point) - 0.3) < 0.05
        True
    """
    return Optimizer(
        space,
        kernel,
        features=features or Exact(),
        estimator=LeastSquares(),
        width=width_or(width, scale, srinivas(scale=scale)),
        ridge=ridge,
        seed=seed,
        device=device,
    )

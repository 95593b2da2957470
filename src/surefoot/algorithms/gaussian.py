"""GP-UCB, the algorithm that the others start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from surefoot.acquisition import UpperConfidenceBound
from surefoot.algorithms._defaults import width_or
from surefoot.estimators import LeastSquares
from surefoot.features import Exact, Features, Nystrom
from surefoot.optimizer import Optimizer
from surefoot.spaces import Space
from surefoot.widths import Width, srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def gp_ucb(
    space: Space,
    kernel: Kernel,
    *,
    features: Features | Nystrom | None = None,
    width: Width | None = None,
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """GP-UCB (Srinivas et al. 2010, Algorithm 1), on rewards as they are.

    `scale` is that of the default width; a `width` brings its own.
    """
    return Optimizer(
        space,
        kernel,
        features=features or Exact(),
        estimator=LeastSquares(),
        width=width_or(width, scale, srinivas(scale=scale)),
        policy=UpperConfidenceBound(),
        ridge=ridge,
        seed=seed,
        device=device,
    )

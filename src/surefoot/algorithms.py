"""Algorithms by name, each a composition of features, estimator, width and policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from surefoot.estimators import Huber, LeastSquares, StudentT
from surefoot.features import Exact, Features, Sketch
from surefoot.fit import Learner
from surefoot.optimizer import Optimizer
from surefoot.policies import NoisyExpectedImprovement, UpperConfidenceBound
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
    """GP-UCB (Srinivas et al. 2010, Algorithm 1), on rewards as they are."""
    return Optimizer(
        space,
        kernel,
        features=features or Exact(),
        estimator=LeastSquares(),
        width=width or srinivas(scale=scale),
        policy=UpperConfidenceBound(),
        ridge=ridge,
        seed=seed,
        device=device,
    )


def robust_ucb(
    space: Space,
    kernel: Kernel | None = None,
    *,
    ridge: float = 1.0,
    scale: float = 0.5,
    initial: int | None = None,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """The default for measurements that jump about; needs no constants from its user."""
    if kernel is None:
        return Optimizer(
            space,
            features=Sketch(),
            estimator=StudentT(),
            width=srinivas(scale=scale),
            policy=NoisyExpectedImprovement(),
            learner=Learner(),
            initial=min(2 * (space.dimension + 1), 12) if initial is None else initial,
            seed=seed,
            device=device,
        )
    return Optimizer(
        space,
        kernel,
        estimator=Huber(),
        width=srinivas(scale=scale),
        standardise=True,
        ridge=ridge,
        initial=initial or 0,
        seed=seed,
        device=device,
    )

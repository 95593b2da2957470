"""GP-UCB on a sketch that is drawn anew as it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import torch

from surefoot import widths
from surefoot.algorithms._defaults import width_or
from surefoot.estimators import Estimator, LeastSquares
from surefoot.features import Nystrom
from surefoot.optimizer import Optimizer
from surefoot.spaces import Space
from surefoot.widths import Width

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


class Budget(TypedDict, total=False):
    """What `bkb` and `bbkb` take besides the norm and the noise, with its defaults.

    `oversampling` None, `horizon` None, `delta` 0.1, `accuracy` 0.5, `inclusion` "per-pull",
    `estimator` `LeastSquares()`, `width` that of the theorem, `ridge` 1, `scale` 1, `seed` 0,
    `device` "cpu".
    """

    oversampling: float | None
    horizon: int | None
    delta: float
    accuracy: float
    inclusion: Literal["per-pull", "per-arm"]
    estimator: Estimator | None
    width: Width | None
    ridge: float
    scale: float
    seed: int
    device: str | torch.device


def bkb(
    space: Space,
    kernel: Kernel,
    *,
    norm_bound: float | None = None,
    noise: float,
    **budget: Unpack[Budget],
) -> Optimizer:
    """BKB: GP-UCB on a sketch of the arms pulled, drawn anew each round by posterior variance.

    Calandriello et al. 2019, Algorithm 1 with the width of Theorem 2, for `noise`-sub-Gaussian
    rewards (xi) and ||f|| <= `norm_bound` (F; None is guessed and doubled). Of the `Budget`,
    `oversampling` is q-bar: 5 in practice; None is the theory's for `horizon`, `delta` and
    `accuracy` (epsilon), with a horizon of None guessed and doubled. The first arm is drawn
    uniformly. On a `Box` the next point is found by gradients through the sketch, from many starts.
    """
    return _budgeted(space, kernel, norm_bound, noise, "every-round", 2.0, **budget)


def bbkb(
    space: Space,
    kernel: Kernel,
    *,
    norm_bound: float | None = None,
    noise: float,
    ratio: float = 2.0,
    **budget: Unpack[Budget],
) -> Optimizer:
    """BBKB: BKB in batches, so that most rounds cost next to nothing.

    Calandriello et al. 2020, Algorithm 1: the mean and the dictionary stay until the pulls since
    have explained 1 + sum of sigma^2 / lambda > `ratio` (C); within a batch only the variance
    falls, and only the arms whose stale score beats the best are looked at again. `ask_batch`
    gives parallel workers arms of one batch; rewards may come late and in any order. The rest as
    in `bkb`; at `ratio` = 1 both ask the same. On a `Box` only the dictionary is that of the batch:
    every reward moves the mean.
    """
    return _budgeted(space, kernel, norm_bound, noise, "adaptive", ratio, **budget)


def _budgeted(
    space: Space,
    kernel: Kernel,
    norm_bound: float | None,
    noise: float,
    resample: Literal["every-round", "adaptive"],
    ratio: float,
    *,
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
    """What BKB and BBKB have in common."""
    theorem = widths.bkb(norm_bound, noise, delta, accuracy, scale)
    return Optimizer(
        space,
        kernel,
        features=Nystrom(oversampling, resample, ratio, inclusion, horizon, delta, accuracy),
        estimator=estimator or LeastSquares(),
        width=width_or(width, scale, theorem),
        ridge=ridge,
        initial=1,
        seed=seed,
        device=device,
    )

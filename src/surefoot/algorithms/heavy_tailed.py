"""Algorithms by name, each a composition of features, estimator, width and policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch

from surefoot import kernels, widths
from surefoot.estimators import (
    AdaptiveTruncation,
    Estimator,
    Huber,
    LeastSquares,
    StudentT,
    Truncation,
)
from surefoot.features import Exact, Features, Nystrom, QuadratureFourier, Sketch
from surefoot.fit import Learner
from surefoot.optimizer import Optimizer
from surefoot.policies import UpperConfidenceBound
from surefoot.spaces import Arms, Box, Space
from surefoot.tails import Moment
from surefoot.types import InvalidInput
from surefoot.widths import Width, adaptive_fourier, adaptive_nystrom, srinivas, truncated

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
        width=_width(width, scale, srinivas(scale=scale)),
        policy=UpperConfidenceBound(),
        ridge=ridge,
        seed=seed,
        device=device,
    )


def tgp_ucb(
    space: Space,
    kernel: Kernel,
    *,
    moment: Moment,
    norm_bound: float | None = None,
    delta: float = 0.1,
    width: Width | None = None,
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """TGP-UCB: rewards beyond a growing threshold count as zero.

    Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Algorithm 1 with the width of Theorem 1, for
    E|y|^(1 + alpha) <= bound (`moment`), ||f|| <= `norm_bound` and k(x, x) <= 1. A `norm_bound` of
    None is guessed and doubled (`surefoot.widths`).
    """
    _require_bounded(kernel, space)
    return Optimizer(
        space,
        kernel,
        features=Exact(),
        estimator=Truncation(moment),
        width=_width(width, scale, truncated(moment, norm_bound, delta, scale)),
        ridge=ridge,
        seed=seed,
        device=device,
    )


def ata_gp_ucb(
    space: Space,
    kernel: Kernel,
    *,
    moment: Moment,
    norm_bound: float | None = None,
    horizon: int | None = None,
    delta: float = 0.1,
    features: Literal["fourier", "nystrom", "exact"] = "fourier",
    nodes: int = 32,
    oversampling: float = 4.0,
    accuracy: float = 0.1,
    resample: Literal["every-round", "adaptive"] = "every-round",
    root: Literal["cholesky", "symmetric"] = "cholesky",
    width: Width | None = None,
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """ATA-GP-UCB: rewards truncated in each direction of feature space, all of them every round.

    Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Algorithm 2 with the width of Lemma 1, for
    E|y|^(1 + alpha) <= bound (`moment`), ||f|| <= `norm_bound` and k(x, x) <= 1. `features`
    "fourier" are quadrature Fourier features with `nodes` on each axis, for the squared
    exponential kernel; "exact" are those of the Gaussian process itself; "nystrom" is for any
    kernel on arms, draws its dictionary with `oversampling` q-bar (the paper's own setting is
    `features.oversampling(horizon, delta, accuracy)`, which takes in nearly every arm pulled) and
    has the width of Theorem 4 with `accuracy` epsilon. `norm_bound` and
    `horizon` of None are guessed and doubled (`surefoot.widths`).
    """
    _require_bounded(kernel, space)
    if features not in ("fourier", "nystrom", "exact"):
        raise InvalidInput(f"`features` is {features!r}, expected 'fourier', 'nystrom' or 'exact'.")
    maps: dict[str, Features | Nystrom] = {
        "fourier": QuadratureFourier(nodes),
        "nystrom": Nystrom(oversampling, resample, feedback="immediate"),
        "exact": Exact(),
    }
    theorem: Width = adaptive_fourier(moment, norm_bound, horizon, delta, scale)
    if features == "nystrom":
        theorem = adaptive_nystrom(moment, norm_bound, horizon, delta, accuracy, scale)
    unions = 4 if features == "nystrom" else 2
    return Optimizer(
        space,
        kernel,
        features=maps[features],
        estimator=AdaptiveTruncation(moment, horizon, delta, root, unions),
        width=_width(width, scale, theorem),
        ridge=ridge,
        seed=seed,
        device=device,
    )


def bkb(
    space: Space,
    kernel: Kernel,
    *,
    norm_bound: float | None = None,
    noise: float,
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
    """BKB: GP-UCB on a sketch of the arms pulled, drawn anew each round by posterior variance.

    Calandriello et al. 2019, Algorithm 1 with the width of Theorem 2, for `noise`-sub-Gaussian
    rewards (xi) and ||f|| <= `norm_bound` (F; None is guessed and doubled). `oversampling` is
    q-bar: 5 in practice; None is the theory's for `horizon`, `delta` and `accuracy`
    (epsilon), with a horizon of None guessed and doubled. The first arm is drawn uniformly. On a
    `Box` the next point is found by gradients through the sketch, from many starts.
    """
    features = Nystrom(
        oversampling, inclusion=inclusion, horizon=horizon, delta=delta, accuracy=accuracy
    )
    theorem = widths.bkb(norm_bound, noise, delta, accuracy, scale)
    return _budgeted(
        space, kernel, features, estimator, _width(width, scale, theorem), ridge, seed, device
    )


def bbkb(
    space: Space,
    kernel: Kernel,
    *,
    norm_bound: float | None = None,
    noise: float,
    oversampling: float | None = None,
    horizon: int | None = None,
    delta: float = 0.1,
    accuracy: float = 0.5,
    ratio: float = 2.0,
    inclusion: Literal["per-pull", "per-arm"] = "per-pull",
    estimator: Estimator | None = None,
    width: Width | None = None,
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """BBKB: BKB in batches, so that most rounds cost next to nothing.

    Calandriello et al. 2020, Algorithm 1: the mean and the dictionary stay until the pulls since
    have explained 1 + sum of sigma^2 / lambda > `ratio` (C); within a batch only the variance
    falls, and only the arms whose stale score beats the best are looked at again. `ask_batch`
    gives parallel workers arms of one batch; rewards may come late and in any order. The rest as
    in `bkb`; at `ratio` = 1 both ask the same. On a `Box` only the dictionary is that of the batch:
    every reward moves the mean.
    """
    features = Nystrom(oversampling, "adaptive", ratio, inclusion, horizon, delta, accuracy)
    theorem = widths.bkb(norm_bound, noise, delta, accuracy, scale)
    return _budgeted(
        space, kernel, features, estimator, _width(width, scale, theorem), ridge, seed, device
    )


def robust_ucb(
    space: Space,
    kernel: Kernel | None = None,
    *,
    ridge: float | None = None,
    scale: float = 0.5,
    initial: int | None = None,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """The default for measurements that jump about; needs no constants from its user.

    Without a kernel, lengthscales, noise scale and tail are learnt with Student-t noise, and
    outliers lose their weight. With one, the estimate is Huber's on rewards centred and scaled by
    median and MAD, and `ridge` (1 by default) is the noise variance in those units. `scale` is
    that of the width sqrt(2 ln(t^2 pi^2 / 0.6)). The first `initial` points are spread evenly.
    """
    if kernel is None:
        if ridge is not None:
            raise InvalidInput("`ridge` came without a `kernel`: a learnt kernel learns the noise.")
        return Optimizer(
            space,
            features=Sketch(),
            estimator=StudentT(),
            width=srinivas(scale=scale),
            learner=Learner(),
            initial=_spread_first(space) if initial is None else initial,
            seed=seed,
            device=device,
        )
    return Optimizer(
        space,
        kernel,
        estimator=Huber(),
        width=srinivas(scale=scale),
        standardise=True,
        ridge=1.0 if ridge is None else ridge,
        initial=initial or 0,
        seed=seed,
        device=device,
    )


def _budgeted(
    space: Space,
    kernel: Kernel,
    features: Nystrom,
    estimator: Estimator | None,
    width: Width,
    ridge: float,
    seed: int,
    device: str | torch.device,
) -> Optimizer:
    """What BKB and BBKB have in common."""
    return Optimizer(
        space,
        kernel,
        features=features,
        estimator=estimator or LeastSquares(),
        width=width,
        ridge=ridge,
        initial=1,
        seed=seed,
        device=device,
    )


def _spread_first(space: Space) -> int:
    """How many points to spread evenly before a model that must learn its kernel may choose."""
    if not isinstance(space, Arms | Box):
        raise InvalidInput(f"`space` is {space!r}, expected `Arms` or `Box`.")
    return min(max(8, 2 * (space.dimension + 1)), 12)


def _width(given: Width | None, scale: float, default: Width) -> Width:
    """The width given, or the default; `InvalidInput` for a scale beside a width."""
    if given is not None and scale != 1.0:
        raise InvalidInput(f"`scale` = {scale!r} came beside `width`: scale the width itself.")
    return default if given is None else given


def _require_bounded(kernel: Kernel, space: Space) -> None:
    """`InvalidInput` unless k(x, x) <= 1 wherever that can be seen."""
    points = space.points if isinstance(space, Arms) else torch.stack([space.lower, space.upper])
    largest = float(kernels.diagonal(kernel, points).max())
    if largest > 1.0 + 1e-9:
        raise InvalidInput(
            f"k(x, x) reaches {largest:.6g}, expected at most 1, which the theorem needs: divide "
            "the kernel by it and multiply `norm_bound` by its root."
        )

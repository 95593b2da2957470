"""Algorithms for rewards of which only a (1 + alpha)-th moment is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch

from surefoot import kernels
from surefoot.algorithms._defaults import width_or
from surefoot.estimators import AdaptiveTruncation, Truncation
from surefoot.features import Exact, Features, Nystrom, QuadratureFourier
from surefoot.optimizer import Optimizer
from surefoot.spaces import Arms, Box, Space
from surefoot.tails import Moment
from surefoot.types import InvalidInput
from surefoot.widths import Width, adaptive_fourier, adaptive_nystrom, truncated

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


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
        width=width_or(width, scale, truncated(moment, norm_bound, delta, scale)),
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
        width=width_or(width, scale, theorem),
        ridge=ridge,
        seed=seed,
        device=device,
    )


def _require_bounded(kernel: Kernel, space: Space) -> None:
    """`InvalidInput` unless k(x, x) <= 1 wherever that can be seen."""
    if not isinstance(space, Arms | Box):
        raise InvalidInput(
            f"`space` is {space!r}, expected `Arms` or `Box`; for a `Joint` space there is `v_ucb`."
        )
    points = space.points if isinstance(space, Arms) else torch.stack([space.lower, space.upper])
    largest = float(kernels.diagonal(kernel, points).max())
    if largest > 1.0 + 1e-9:
        raise InvalidInput(
            f"k(x, x) reaches {largest:.6g}, expected at most 1, which the theorem needs: divide "
            "the kernel by it and multiply `norm_bound` by its root."
        )

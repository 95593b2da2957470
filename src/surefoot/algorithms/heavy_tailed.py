"""Algorithms for rewards of which only a (1 + alpha)-th moment is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch

from surefoot import kernels
from surefoot._internal import checks
from surefoot.algorithms._defaults import optimism, placed, width_or
from surefoot.estimators import AdaptiveTruncation, Truncation, TuningFreeTruncation
from surefoot.features import Exact, Features, LeverageSampling, Nystrom, QuadratureFourier
from surefoot.optimizer import Optimizer
from surefoot.spaces import Arms, Box, Space
from surefoot.spaces.box import as_space, no_space
from surefoot.tails import Moment
from surefoot.types import InvalidInput
from surefoot.widths import (
    Width,
    adaptive_fourier,
    adaptive_nystrom,
    truncated_uniform,
    tuning_free,
)

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

# Bounds that widen with t keep every arm open: each is pulled 1 / (1 + 2 slack)^2 times as often as
# the best one, whatever the heuristic knows.
_TRUNCATED_SLACK = 19.0


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
    """TGP-UCB: GP-UCB on rewards that are set to zero beyond a growing threshold.

    The bounds are proved, and wide: they grow as t^(1 / (2 (1 + alpha))). Points are chosen by the
    width `widths.srinivas(delta)` as long as they certify it (`acquisition.Guarded`, with a slack
    of 19): regret is at most 20 times the bound of the theorem.

    Args:
        space: `Arms` or `Box`.
        kernel: The prior covariance, with k(x, x) <= 1.
        moment: The moment E|y|^(1 + alpha) <= v that is assumed, in reward units.
        norm_bound: Bound B on the norm of f, in reward units; None finds it by doubling.
        delta: Probability with which the bounds may fail.
        width: The width in place of `widths.truncated_uniform`, by which alone points are chosen;
            `widths.truncated` is that of Theorem 1.
        ridge: Regularisation lambda, in squared reward units. The bounds hold for any; up to
            b_T^2 / B^2, with the threshold b_T of the last round, larger ones explore less.
        scale: Factor of the theorem's width.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, or k(x, x) exceeds 1.

    References:
        Chowdhury and Gopalan 2019, "Bayesian optimization under heavy-tailed payoffs", Algorithm
        1; notes/guarantees.md, Proposition 3, for the width.

    Example:
        >>> import surefoot as sf
        >>> space, kernel = sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> moment = sf.Moment(alpha=1.0, bound=4.0)
        >>> optimizer = sf.algorithms.tgp_ucb(space, kernel, moment=moment, norm_bound=1.0)
        >>> info = optimizer.tell(0, 100.0)
        >>> info.truncated
        1
    """
    _require_bounded(kernel, space)
    bounds = width_or(width, scale, truncated_uniform(moment, norm_bound, delta, scale))
    return Optimizer(
        placed(space, device),
        kernel,
        features=Exact(),
        estimator=Truncation(moment),
        width=bounds,
        policy=optimism(proved=width is None, delta=delta, slack=_TRUNCATED_SLACK),
        ridge=ridge,
        seed=seed,
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
    """ATA-GP-UCB: GP-UCB with rewards truncated in each direction of feature space.

    All rewards are truncated anew in every round. The proof of Lemma 1, and with it that of
    Theorems 3 and 4, conditions on arms that depend on earlier rewards, so that bounds and regret
    are proved only for arms that are chosen in advance (notes/guarantees.md).

    Args:
        space: `Arms` or `Box`.
        kernel: The prior covariance, with k(x, x) <= 1.
        moment: The moment E|y|^(1 + alpha) <= v that is assumed, in reward units.
        norm_bound: Bound B on the norm of f, in reward units; None finds it by doubling.
        horizon: Number of rounds T; None finds it by doubling.
        delta: Probability with which the bounds of Lemma 1 may fail.
        features: "fourier" are quadrature Fourier features, for the squared exponential kernel;
            Lemma 1 bounds the error of the mean by beta sigma + O(B e^(1/2) t^2), e the largest
            error of the approximate kernel, of which the second term is left out here. "nystrom" is
            for any kernel on arms. "exact" are those of the Gaussian process itself, with the width
            of Lemma 1, which is not proved for them.
        nodes: Quadrature nodes on each axis.
        oversampling: Factor q of the probability with which a measured arm is in the dictionary.
            The default of 4 is not covered by Theorem 4, which requires
            `features.oversampling(horizon, delta, accuracy)`. The paper's experiments have
            ln(horizon) / 0.01. Both include nearly every arm.
        accuracy: Relative accuracy epsilon of the sketched variance, for the width of Theorem 4.
        resample: "every-round" draws the dictionary after each reward; "adaptive" when the
            posterior variances of the points measured since the last draw sum to more than lambda.
        root: "symmetric" is the paper's V^{-1/2}; "cholesky" obeys the same bound and costs less.
        width: The width in place of that of Lemma 1 or Theorem 4.
        ridge: Regularisation lambda, in squared reward units.
        scale: Factor of the theorem's width.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, or k(x, x) exceeds 1.

    References:
        Chowdhury and Gopalan 2019, "Bayesian optimization under heavy-tailed payoffs", Algorithm
        2, Lemma 1 and Theorem 4.

    Example:
        >>> import surefoot as sf
        >>> space = sf.Arms([[i / 99] for i in range(100)])
        >>> kernel, moment = sf.kernels.squared_exponential(0.2), sf.Moment(alpha=1.0, bound=4.0)
        >>> optimizer = sf.algorithms.ata_gp_ucb(space, kernel, moment=moment, horizon=1000)
        >>> optimizer.tell(0, 0.5).dimension
        32
    """
    _require_bounded(kernel, space)
    checks.choice("features", features, "fourier", "nystrom", "exact")
    maps: dict[str, Features] = {
        "fourier": QuadratureFourier(nodes),
        "nystrom": Nystrom(LeverageSampling(oversampling, resample, feedback="immediate")),
        "exact": Exact(),
    }
    theorem: Width = adaptive_fourier(moment, norm_bound, delta, scale, horizon)
    if features == "nystrom":
        theorem = adaptive_nystrom(moment, norm_bound, delta, scale, horizon, accuracy)
    unions = 4 if features == "nystrom" else 2
    bounds = width_or(width, scale, theorem)
    return Optimizer(
        placed(space, device),
        kernel,
        features=maps[features],
        estimator=AdaptiveTruncation(moment, horizon, delta, root, unions),
        width=bounds,
        ridge=ridge,
        seed=seed,
    )


def tuning_free_gp_ucb(
    space: Space,
    kernel: Kernel,
    *,
    norm_bound: float | None = None,
    delta: float = 0.1,
    tail: float = 2.0,
    features: Features | None = None,
    width: Width | None = None,
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """GP-UCB for heavy-tailed rewards of which no moment is known.

    Rewards are truncated where h |y| exceeds a threshold, with h^2 = phi(x)^T V^{-1} phi(x) the
    leverage. Threshold and width are computed from the rewards, such that fewer than
    ln(pi^2 t^2 / (3 delta)) rewards are truncated. The constants of the width do not account for
    the union over thresholds, so that the probability 1 - delta is not proved.

    Args:
        space: `Arms` or `Box`.
        kernel: The prior covariance, with k(x, x) <= 1.
        norm_bound: Bound B on the norm of f, in reward units; None finds it by doubling.
        delta: Probability with which the bounds may fail.
        tail: Constant K >= 1 of the assumption on the tails that replaces a known moment, see
            `widths.tuning_free`: 2 for Pareto tails of index 2 and above, 3 for 1.5 and above.
        features: The feature map, `Exact()` by default.
        width: The width in place of `widths.tuning_free`.
        ridge: Regularisation lambda, in squared reward units.
        scale: Factor of that width.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, or k(x, x) exceeds 1.

    References:
        Wang, Zheng, Zhou and Zhou 2021, "A new principle for tuning-free Huber regression"; Genalti
        et al. 2024, "(epsilon, u)-adaptive regret minimization in heavy-tailed bandits"; Chowdhury
        and Gopalan 2019, for the rate of the width.

    Example:
        >>> import surefoot as sf
        >>> space, kernel = sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.algorithms.tuning_free_gp_ucb(space, kernel)
        >>> info = optimizer.tell_all([0, 1, 2] * 10, [0.1, 0.9, 0.2] * 9 + [0.1, 0.9, -1e6])
        >>> info.truncated, optimizer.recommend().arm
        (1, 1)
    """
    _require_bounded(kernel, space)
    return Optimizer(
        placed(space, device),
        kernel,
        features=Exact() if features is None else features,
        estimator=TuningFreeTruncation(delta),
        width=width_or(width, scale, tuning_free(norm_bound, delta, tail, scale)),
        ridge=ridge,
        seed=seed,
    )


def _require_bounded(kernel: Kernel, space: Space) -> None:
    """`InvalidInput` unless k(x, x) <= 1 wherever that can be seen."""
    space = as_space(space)
    if not isinstance(space, Arms | Box):
        kinds = "`Arms`, `Box` or `parameters.Space` (for a `Joint` space there is `v_ucb`)"
        raise no_space("space", space, kinds)
    kernels.check(kernel)
    points = space.examples(0, torch.Generator())
    largest = float(kernels.diagonal(kernel, points).max())
    if largest > 1.0 + 1e-9:
        raise InvalidInput(
            f"k(x, x) reaches {largest:.6g}, expected at most 1, which the theorem needs: divide "
            "the kernel by it and multiply `norm_bound` by its root."
        )

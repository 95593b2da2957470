"""Algorithms for rewards of which only a (1 + alpha)-th moment is known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import torch

from surefoot import kernels
from surefoot._internal import checks
from surefoot._internal.numbers import ROUNDING
from surefoot.estimators import AdaptiveTruncation, Truncation
from surefoot.features import Features, LeverageSampling, Nystrom, QuadratureFourier
from surefoot.optimizer import Method, Optimizer
from surefoot.spaces import Arms, Box, Space
from surefoot.spaces.box import as_space, no_space
from surefoot.tails import Moment
from surefoot.types import InvalidInput
from surefoot.widths import (
    Width,
    adaptive_fourier,
    adaptive_nystrom,
    truncated,
)

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def tgp_ucb(
    space: Space,
    kernel: Kernel,
    *,
    moment: Moment,
    norm_bound: float | None = None,
    delta: float = 0.1,
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
) -> Optimizer:
    """TGP-UCB: GP-UCB on rewards that are set to zero beyond a growing threshold.

    Algorithm 1 with the width of Theorem 1, which grows as t^(1 / (2 (1 + alpha))): over a thousand
    rounds 0.9 of the regret of random arms. Where alpha is 1, `gp_ucb` with
    `widths.self_normalised(moment)` has a quarter of it, with the variance in place of the raw
    moment a ninth (notes/guarantees.md), and `robust_ucb` is for practice, without a guarantee.

    Args:
        space: `Arms` or `Box`.
        kernel: The prior covariance, with k(x, x) <= 1.
        moment: The moment E|y|^(1 + alpha) <= v that is assumed, in reward units.
        norm_bound: Bound B on the norm of f, in reward units; None finds it by doubling.
        delta: Probability with which the bounds may fail.
        ridge: Regularisation lambda, in squared reward units. Up to b_T^2 / B^2, with the threshold
            b_T of the last round, larger ones explore less.
        scale: Factor of the theorem's width.
        seed: Seed of all random choices.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, or k(x, x) exceeds 1.

    References:
        Chowdhury and Gopalan 2019, "Bayesian optimization under heavy-tailed payoffs", Algorithm 1
        and Theorem 1.

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
    bounds = truncated(moment, norm_bound, delta, scale)
    method = Method(kernel, ridge, estimator=Truncation(moment), width=bounds)
    return Optimizer(space, method, seed=seed)


def ata_gp_ucb(
    space: Space,
    kernel: Kernel,
    *,
    moment: Moment,
    norm_bound: float | None = None,
    horizon: int | None = None,
    delta: float = 0.1,
    features: Literal["fourier", "nystrom"] | Features = "fourier",
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
) -> Optimizer:
    """ATA-GP-UCB: GP-UCB with rewards truncated in each direction of feature space.

    Algorithm 2, in which all rewards are truncated anew in every round. The proof of Lemma 1, and
    with it that of Theorems 3 and 4, conditions on arms that depend on earlier rewards, so that
    bounds and regret are proved only for arms that are chosen in advance (notes/guarantees.md).

    Args:
        space: `Arms` or `Box`.
        kernel: The prior covariance, with k(x, x) <= 1.
        moment: The moment E|y|^(1 + alpha) <= v that is assumed, in reward units.
        norm_bound: Bound B on the norm of f, in reward units; None finds it by doubling.
        horizon: Number of rounds T; None finds it by doubling.
        delta: Probability with which the bounds of Lemma 1 may fail.
        features: "fourier" are `QuadratureFourier(folded=False)`, for the squared exponential
            kernel; Lemma 1 bounds the error of the mean by beta sigma + O(B e^(1/2) t^2), e the
            largest error of the approximate kernel, of which the second term is left out here.
            "nystrom" is for any kernel on arms, with the dictionary of Theorem 4, which includes
            nearly every arm. Of others such as
            `Nystrom(LeverageSampling(4.0, feedback="immediate"))`, which is enough in practice and
            for a box, threshold and width are those of Theorem 4; of `QuadratureFourier(16)` and
            `Exact()` those of Lemma 1, which is not proved for the latter.
        ridge: Regularisation lambda, in squared reward units.
        scale: Factor of the theorem's width.
        seed: Seed of all random choices.

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
        64
    """
    _require_bounded(kernel, space)
    theory = LeverageSampling(
        None,
        horizon=horizon,
        delta=delta,
        accuracy=adaptive_nystrom.accuracy,
        feedback="immediate",
        root="symmetric",
    )
    maps: dict[str, Features] = {
        "fourier": QuadratureFourier(folded=False),
        "nystrom": Nystrom(theory),
    }
    if isinstance(features, str):
        features = maps[checks.choice("features", features, *maps)]
    bounds: Width = adaptive_fourier(moment, norm_bound, delta, scale, horizon)
    estimator = AdaptiveTruncation(moment, horizon, delta, "symmetric")
    if isinstance(features, Nystrom):
        rule = features.dictionary
        accuracy = getattr(rule, "accuracy", adaptive_nystrom.accuracy)
        bounds = adaptive_nystrom(moment, norm_bound, delta, scale, horizon, accuracy)
        estimator = replace(estimator, root=getattr(rule, "root", "cholesky"), unions=4)
    method = Method(kernel, ridge, features=features, estimator=estimator, width=bounds)
    return Optimizer(space, method, seed=seed)


def _require_bounded(kernel: Kernel, space: Space) -> None:
    """`InvalidInput` unless k(x, x) <= 1 wherever that can be seen."""
    space = as_space(space)
    if not isinstance(space, Arms | Box):
        kinds = "`Arms`, `Box` or `parameters.Space` (for a `Joint` space there is `v_ucb`)"
        raise no_space("space", space, kinds)
    kernels.check(kernel)
    largest = float(kernels.diagonal(kernel, space.examples(0, torch.Generator())).max())
    if largest > 1.0 + ROUNDING:
        raise InvalidInput(
            f"k(x, x) reaches {largest:.6g}, expected at most 1, which the theorem needs: divide "
            "the kernel by it and multiply `norm_bound` by its root."
        )

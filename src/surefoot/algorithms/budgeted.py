"""GP-UCB with a budget: on a sketch that is resampled by posterior variance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch

from surefoot.acquisition import Plan, Policy, ScoreRule, UpperConfidenceBound
from surefoot.algorithms._defaults import Choose, optimism, width_or
from surefoot.estimators import Estimator, LeastSquares
from surefoot.features import LeverageSampling, Nystrom
from surefoot.optimizer import Method, Optimizer
from surefoot.problem import Problem
from surefoot.spaces import Space
from surefoot.widths import Width, dual_mixture
from surefoot.widths import bkb as bkb_width

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def bkb(
    space: Space,
    kernel: Kernel,
    *,
    noise: float,
    norm_bound: float | None = None,
    oversampling: float | None = None,
    horizon: int | None = None,
    delta: float = 0.1,
    accuracy: float = 0.5,
    inclusion: Literal["per-pull", "per-arm"] = "per-pull",
    estimator: Estimator | None = None,
    width: Width | None = None,
    choose: Choose = "literal",
    policy: Policy | ScoreRule | None = None,
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    r"""BKB: GP-UCB on a sketch whose dictionary is resampled after every round.

    Every pull is in the dictionary with probability :math:`\min(1, \bar q \sigma^2/\lambda)`. The
    first arm is drawn uniformly, the others by the width of Theorem 2, `widths.bkb`, which is
    proved for a given `norm_bound` with the theory's `oversampling`. On a `Box` the next point is
    found by gradients through the sketch, from many starts.

    Args:
        space: `Arms` or `Box`.
        kernel: The prior covariance.
        noise: Sub-Gaussian constant xi of the noise, in reward units.
        norm_bound: Bound F on the norm of f, in reward units; None finds it by doubling.
        oversampling: Factor q-bar of the inclusion probability min(1, q-bar sigma^2 / lambda).
            None computes that of the theory from `horizon`, `delta` and `accuracy`, which includes
            nearly all pulled arms. The bounds hold for any, and 5 suffices in practice.
        horizon: Number of rounds T for the theory's q-bar; None finds it by doubling.
        delta: Probability with which the bounds may fail.
        accuracy: Relative accuracy epsilon of the sketched variance.
        inclusion: "per-pull" gives an arm of n pulls n chances, "per-arm" a single one.
        estimator: Estimator of the coefficients; least squares by default.
        width: The width in place of `widths.bkb`.
        choose: "literal" maximises the upper bound of the width. "guarded" has the bounds of
            `widths.dual_mixture`, which hold for any dictionary and are narrower, and chooses by
            `widths.srinivas(delta)` as long as they certify it (`acquisition.Guarded`): about half
            the regret of these bounds alone after 1,000 rounds on 500 arms, and in a round at most
            10 times the distance of the bounds.
        policy: The policy in place of the upper confidence bound; `ThompsonSampling()` draws a
            function from the posterior, including the residual of the sketch.
        ridge: Regularisation lambda, in squared reward units.
        scale: Factor of that width; with less than 1 no theorem holds.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range.

    References:
        Calandriello, Carratino, Lazaric, Valko and Rosasco 2019, "Gaussian process optimization
        with adaptive sketching", Algorithm 1 and Theorem 2; notes/guarantees.md, Proposition 1, for
        any dictionary.

    Example:
        >>> import surefoot as sf
        >>> arms = sf.Arms([[i / 999] for i in range(1000)])
        >>> kernel = sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.algorithms.bkb(arms, kernel, noise=0.1, oversampling=5.0)
        >>> info = optimizer.tell(optimizer.ask(), 0.3)
        >>> info.dimension
        1
    """
    sampling = LeverageSampling(
        oversampling, "every-round", 2.0, inclusion, horizon, delta, accuracy
    )
    proved = width is None and estimator is None and policy is None
    chosen = optimism(choose, proved=proved, delta=delta)
    bounds: Width = bkb_width(norm_bound, noise, delta, scale, accuracy)
    if choose == "guarded":
        bounds = dual_mixture(norm_bound, noise, delta, scale)
    method = Method(
        kernel,
        features=Nystrom(sampling),
        estimator=LeastSquares() if estimator is None else estimator,
        width=width_or(width, scale, bounds),
        policy=chosen if policy is None else policy,
        ridge=ridge,
        plan=Plan(1),
    )
    return Optimizer(Problem(space).to(device), method, seed=seed)


def bbkb(
    space: Space,
    kernel: Kernel,
    *,
    noise: float,
    norm_bound: float | None = None,
    ratio: float = 2.0,
    oversampling: float | None = None,
    horizon: int | None = None,
    delta: float = 0.1,
    accuracy: float = 0.5,
    inclusion: Literal["per-pull", "per-arm"] = "per-pull",
    estimator: Estimator | None = None,
    width: Width | None = None,
    policy: Policy | ScoreRule = UpperConfidenceBound(),
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """BBKB: BKB in batches, within which only the variance is updated.

    Mean and dictionary are kept until 1 + sum of sigma^2(x_s) / lambda, over the pulls since the
    dictionary was last drawn, exceeds `ratio`. Within a batch bounds only decrease, and only the
    arms whose stale bound exceeds the best are evaluated again. `ask_batch` gives parallel workers
    arms of one batch; rewards may arrive late and in any order. With `ratio` = 1 the queries are
    those of `bkb`. On a `Box` only the dictionary is that of the batch: every reward updates the
    mean.

    Args:
        space: `Arms` or `Box`.
        kernel: The prior covariance.
        noise: Sub-Gaussian constant xi of the noise, in reward units.
        norm_bound: Bound F on the norm of f, in reward units; None finds it by doubling.
        ratio: The ratio C of variances at which a batch ends, at least 1.
        oversampling: Factor q-bar of the inclusion probability min(1, q-bar sigma^2 / lambda).
            None computes that of the theory from `horizon`, `delta` and `accuracy`, which includes
            nearly all pulled arms. The bounds hold for any, and 5 suffices in practice.
        horizon: Number of rounds T for the theory's q-bar; None finds it by doubling.
        delta: Probability with which the bounds may fail.
        accuracy: Relative accuracy epsilon of the sketched variance.
        inclusion: "per-pull" gives an arm of n pulls n chances, "per-arm" a single one.
        estimator: Estimator of the coefficients; least squares by default.
        width: The width in place of that of `bkb` times the root of `ratio`, by which it holds in
            all rounds of a batch; `widths.sketch_determinant`, with the same `ratio`, holds for any
            dictionary.
        policy: The policy in place of the upper confidence bound; `ThompsonSampling()` draws a
            function from the posterior, including the residual of the sketch.
        ridge: Regularisation lambda, in squared reward units.
        scale: Factor of that width; with less than 1 no theorem holds.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range.

    References:
        Calandriello, Carratino, Lazaric, Valko and Rosasco 2020, "Near-linear time Gaussian
        process optimization with adaptive batching and resparsification", Algorithm 1;
        notes/guarantees.md, Propositions 1 and 2, for the width.

    Example:
        >>> import surefoot as sf
        >>> arms = sf.Arms([[i / 999] for i in range(1000)])
        >>> kernel = sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.algorithms.bbkb(arms, kernel, noise=0.1, oversampling=5.0)
        >>> info = optimizer.tell(optimizer.ask(), 0.3)
        >>> len(optimizer.ask_batch(4))
        4
    """
    sampling = LeverageSampling(
        oversampling, "adaptive", ratio, inclusion, horizon, delta, accuracy
    )
    grown = scale * ratio**0.5  # Proposition 2
    bounds = bkb_width(norm_bound, noise, delta, grown, accuracy)
    method = Method(
        kernel,
        features=Nystrom(sampling),
        estimator=LeastSquares() if estimator is None else estimator,
        width=width_or(width, scale, bounds),
        policy=policy,
        ridge=ridge,
        plan=Plan(1),
    )
    return Optimizer(Problem(space).to(device), method, seed=seed)

"""Maximisation of the value at risk over a random environment, and of the worst case, its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from surefoot.acquisition.lacing import Lacing
from surefoot.acquisition.recommendation import By
from surefoot.algorithms._defaults import Choose, bounds_or_heuristic, optimism
from surefoot.algorithms._risk_averse import risk_averse
from surefoot.estimators import Estimator
from surefoot.features import Features
from surefoot.hyperparameters import HyperparameterFit
from surefoot.optimizer import Optimizer
from surefoot.risks import VaR, WorstCase
from surefoot.spaces import Joint
from surefoot.widths import Width

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def v_ucb(
    space: Joint,
    kernel: Kernel | None = None,
    *,
    level: float,
    lacing: Lacing = "prob",
    features: Features | None = None,
    estimator: Estimator | None = None,
    noise: float | None = None,
    choose: Choose = "literal",
    norm_bound: float | None = None,
    delta: float = 0.1,
    width: Width | None = None,
    hyperparameters: HyperparameterFit | None = None,
    ridge: float | None = None,
    scale: float = 1.0,
    initial: int | None = None,
    recommendation: By = "mean",
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """V-UCB: maximises the value at risk over a random environment.

    The design maximises the value at risk of the upper confidence bound. It is measured under a
    lacing value z, at which the bounds of f enclose those of the value at risk.

    Args:
        space: `Joint(design, environment)`.
        kernel: The prior covariance of x followed by z; None fits a squared exponential one, and
            the noise, every 3 rounds: Gaussian noise with `LeastSquares`, Student-t noise with any
            other estimator.
        level: Level alpha in (0, 1) of the lower tail: the value at risk is the alpha-quantile of
            f(x, Z).
        lacing: The lacing value to measure under: "prob" is the one of largest weight or density,
            of several the least certain; "prob-random" of several a random one; "unif" a random
            one of all.
        features: The feature map; by default `Exact()`, or `Nystrom(PivotedCholesky())` where the
            kernel is fitted.
        estimator: Estimator of the coefficients; least squares by default.
        noise: Sub-Gaussian constant R of the noise, in reward units, where it and the kernel are
            known: the width is then `widths.dual_mixture`, whose bounds are proved for a given
            `norm_bound`.
        choose: With `noise`, "guarded" chooses by the default width as long as the bounds certify
            the choice (`acquisition.Guarded`), else by the bounds alone.
        norm_bound: Bound B on the norm of f, in reward units; None finds it from the rewards and by
            doubling, from R (`surefoot.widths`).
        delta: Probability with which the bounds may fail.
        width: The width in place of `widths.srinivas(delta, scale)`, which is
            sqrt(2 ln(t^2 pi^2 / 0.6)) with t one more than the number of rewards. The paper counts
            from the first chosen query: `widths.srinivas(initial=n)` after n initial ones.
        hyperparameters: How kernel and noise are fitted, in place of the default, without a kernel.
        ridge: Regularisation lambda where a kernel is given, the noise variance in squared reward
            units; 1 by default.
        scale: Factor of the default width.
        initial: Number of pairs of the initial design, spread over the designs and drawn from the
            environment; by default none if a kernel is given.
        recommendation: Rule of `recommend`: "mean" for the measured design with the largest value
            at risk of the posterior mean; "lower" for that with the largest value at risk of the
            lower bound; "rounds" for that whose lower bound was largest in the round in which it
            was chosen, which has the regret bound of Appendix F if bounds are proved
            (`acquisition.Recorded`); or a function of a belief and a generator, a score of designs.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, `space` is not a `Joint`, `ridge` is given
            without a kernel, or both `scale` and `width` are.

    References:
        Nguyen, Dai, Low and Jaillet 2021, "Value-at-Risk optimization with Gaussian processes",
        Algorithm 1.

    Example:
        >>> import surefoot as sf
        >>> load = sf.FiniteEnvironment([0.0, 0.5, 1.0], [0.5, 0.3, 0.2])
        >>> space = sf.Joint(sf.Arms([[0.0], [0.5], [1.0]]), load)
        >>> kernel = sf.kernels.squared_exponential([0.5, 0.5])
        >>> optimizer = sf.algorithms.v_ucb(space, kernel, level=0.2, ridge=0.01)
        >>> for _ in range(9):
        ...     query = optimizer.ask()
        ...     x, z = float(query.point), float(query.environment)
        ...     info = optimizer.tell(query, x - 2 * x * z)
        >>> optimizer.recommend().point.tolist()
        [0.0]
    """
    return risk_averse(
        space,
        kernel,
        VaR(level),
        optimism(choose, proved=noise is not None, delta=delta, lacing=lacing),
        features=features,
        estimator=estimator,
        width=bounds_or_heuristic(width, scale, kernel, noise, norm_bound, delta),
        hyperparameters=hyperparameters,
        ridge=ridge,
        initial=initial,
        recommendation=recommendation,
        seed=seed,
        device=device,
    )


def stable_opt(
    space: Joint,
    kernel: Kernel | None = None,
    *,
    features: Features | None = None,
    estimator: Estimator | None = None,
    noise: float | None = None,
    choose: Choose = "literal",
    norm_bound: float | None = None,
    delta: float = 0.1,
    width: Width | None = None,
    ridge: float | None = None,
    scale: float = 1.0,
    initial: int | None = None,
    recommendation: By = "mean",
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """StableOpt: maximises the worst case over the environment.

    The design maximises the least upper confidence bound, and is measured under the z of the least
    lower bound there. This is the limit of `v_ucb` at level 0.

    Args:
        space: `Joint(design, environment)`.
        kernel: The prior covariance of x followed by z; None fits a squared exponential one, and
            the noise, every 3 rounds: Gaussian noise with `LeastSquares`, Student-t noise with any
            other estimator.
        features: The feature map; by default `Exact()`, or `Nystrom(PivotedCholesky())` where the
            kernel is fitted.
        estimator: Estimator of the coefficients; least squares by default.
        noise: Sub-Gaussian constant R of the noise, in reward units, where it and the kernel are
            known: the width is then `widths.dual_mixture`, whose bounds are proved for a given
            `norm_bound`.
        choose: With `noise`, "guarded" chooses by the default width as long as the bounds certify
            the choice (`acquisition.Guarded`), else by the bounds alone.
        norm_bound: Bound B on the norm of f, in reward units; None finds it from the rewards and by
            doubling, from R (`surefoot.widths`).
        delta: Probability with which the bounds may fail.
        width: The width in place of `widths.srinivas(delta, scale)`, which is
            sqrt(2 ln(t^2 pi^2 / 0.6)).
        ridge: Regularisation lambda where a kernel is given, the noise variance in squared reward
            units; 1 by default.
        scale: Factor of the default width.
        initial: Number of pairs of the initial design, spread over the designs and drawn from the
            environment; by default none if a kernel is given.
        recommendation: Rule of `recommend`, as for `v_ucb`: "mean", "lower", "rounds" or a score.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, `space` is not a `Joint`, `ridge` is given
            without a kernel, or both `scale` and `width` are.

    References:
        Bogunovic, Scarlett, Jegelka and Cevher 2018, "Adversarially robust optimization with
        Gaussian processes", Algorithm 1; Nguyen et al. 2021 (V-UCB), Corollary 2.2.

    Example:
        >>> import surefoot as sf
        >>> load = sf.FiniteEnvironment([0.0, 0.5, 1.0], [0.5, 0.3, 0.2])
        >>> space = sf.Joint(sf.Arms([[0.0], [0.5], [1.0]]), load)
        >>> kernel = sf.kernels.squared_exponential([0.5, 0.5])
        >>> optimizer = sf.algorithms.stable_opt(space, kernel, ridge=0.01)
        >>> for _ in range(9):
        ...     query = optimizer.ask()
        ...     x, z = float(query.point), float(query.environment)
        ...     info = optimizer.tell(query, x - 2 * x * z)
        >>> optimizer.recommend().point.tolist()
        [0.0]
    """
    return risk_averse(
        space,
        kernel,
        WorstCase(),
        optimism(choose, proved=noise is not None, delta=delta),
        features=features,
        estimator=estimator,
        width=bounds_or_heuristic(width, scale, kernel, noise, norm_bound, delta),
        ridge=ridge,
        initial=initial,
        recommendation=recommendation,
        seed=seed,
        device=device,
    )

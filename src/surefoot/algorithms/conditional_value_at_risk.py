"""Maximisation of the conditional value at risk over a random environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch

from surefoot.acquisition import ScorePolicy, ThompsonSampling
from surefoot.acquisition.lacing import Lacing
from surefoot.acquisition.recommendation import By
from surefoot.algorithms._defaults import Choose, bounds_or_heuristic, optimism
from surefoot.algorithms._risk_averse import risk_averse
from surefoot.estimators import Estimator
from surefoot.features import Features
from surefoot.optimizer import Optimizer
from surefoot.risks import CVaR
from surefoot.spaces import Joint
from surefoot.widths import Width, srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def cvar_ucb(
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
    ridge: float | None = None,
    scale: float = 1.0,
    initial: int | None = None,
    recommendation: By = "mean",
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """CV-UCB: maximises the conditional value at risk over a random environment.

    The design maximises the conditional value at risk of the upper confidence bound. Among
    the levels up to `level`, it takes the one whose value at risk is least certain, and measures
    under a lacing value of that level.

    Args:
        space: `Joint(design, environment)`.
        kernel: The prior covariance of x followed by z; None fits a squared exponential one, and
            the noise, every 3 rounds: Gaussian noise with `LeastSquares`, Student-t noise with any
            other estimator.
        level: Level alpha in (0, 1) of the lower tail: the conditional value at risk is the mean of
            the worst share alpha of the values of f(x, Z).
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
        Nguyen, Dai, Low and Jaillet 2021, "Optimizing conditional value-at-risk of black-box
        functions".

    Example:
        >>> import surefoot as sf
        >>> load = sf.FiniteEnvironment([0.0, 0.5, 1.0], [0.5, 0.3, 0.2])
        >>> space = sf.Joint(sf.Arms([[0.0], [0.5], [1.0]]), load)
        >>> kernel = sf.kernels.squared_exponential([0.5, 0.5])
        >>> optimizer = sf.algorithms.cvar_ucb(space, kernel, level=0.2, ridge=0.01)
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
        CVaR(level),
        optimism(choose, proved=noise is not None, delta=delta, lacing=lacing),
        features=features,
        estimator=estimator,
        width=bounds_or_heuristic(width, scale, kernel, noise, norm_bound, delta),
        ridge=ridge,
        initial=initial,
        recommendation=recommendation,
        seed=seed,
        device=device,
    )


def cvar_ts(
    space: Joint,
    kernel: Kernel | None = None,
    *,
    level: float,
    lacing: Literal["prob", "unif"] = "prob",
    features: Features | None = None,
    estimator: Estimator | None = None,
    width: Width | None = None,
    ridge: float | None = None,
    scale: float = 1.0,
    initial: int | None = None,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """CV-TS: Thompson sampling of the conditional value at risk over a random environment.

    The design maximises the conditional value at risk of a function drawn from the posterior. As
    in `cvar_ucb`, it is measured under a lacing value of the level, among those up to `level`,
    whose value at risk is least certain. For another risk, pass `risk` and
    `policy=acquisition.ThompsonSampling()` to `Optimizer` or `robust_ucb`.

    Args:
        space: `Joint(design, environment)`.
        kernel: The prior covariance of x followed by z; None fits a squared exponential one, and
            the noise, every 3 rounds: Gaussian noise with `LeastSquares`, Student-t noise with any
            other estimator.
        level: Level alpha in (0, 1) of the lower tail: the conditional value at risk is the mean of
            the worst share alpha of the values of f(x, Z).
        lacing: The lacing value to measure under: "prob" is the one of largest weight or density,
            "unif" a random one.
        features: The feature map; by default `Exact()`, or `Nystrom(PivotedCholesky())` where the
            kernel is fitted.
        estimator: Estimator of the coefficients; least squares by default.
        width: The width of the bounds by which the lacing value is chosen;
            `widths.srinivas()`, which is sqrt(2 ln(t^2 pi^2 / 0.6)), by default.
        ridge: Regularisation lambda where a kernel is given, the noise variance in squared reward
            units; 1 by default.
        scale: Factor of the draw's deviation from the posterior mean.
        initial: Number of pairs of the initial design, spread over the designs and drawn from the
            environment; by default none if a kernel is given.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, `space` is not a `Joint`, or `ridge` is given
            without a kernel.

    References:
        Nguyen, Dai, Low and Jaillet 2021, "Optimizing conditional value-at-risk of black-box
        functions" (CV-TS).

    Example:
        >>> import surefoot as sf
        >>> load = sf.FiniteEnvironment([0.0, 0.5, 1.0], [0.5, 0.3, 0.2])
        >>> space = sf.Joint(sf.Arms([[0.0], [0.5], [1.0]]), load)
        >>> kernel = sf.kernels.squared_exponential([0.5, 0.5])
        >>> optimizer = sf.algorithms.cvar_ts(space, kernel, level=0.2, ridge=0.01)
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
        CVaR(level),
        ScorePolicy(ThompsonSampling(scale), lacing=lacing),
        features=features,
        estimator=estimator,
        width=srinivas() if width is None else width,
        ridge=ridge,
        initial=initial,
        seed=seed,
        device=device,
    )

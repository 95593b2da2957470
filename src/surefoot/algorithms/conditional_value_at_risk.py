"""Maximisation of the conditional value at risk over a random environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from surefoot.acquisition import ScorePolicy, ThompsonSampling
from surefoot.acquisition.lacing import Lacing
from surefoot.acquisition.recommendation import By
from surefoot.algorithms._defaults import Choose, optimism
from surefoot.algorithms._risk_averse import risk_averse
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
    choose: Choose = "literal",
    width: Width = srinivas(),
    ridge: float | None = None,
    initial: int | None = None,
    recommendation: By = "mean",
    seed: int = 0,
) -> Optimizer:
    """CV-UCB: maximises the conditional value at risk over a random environment.

    The design maximises the conditional value at risk of the upper confidence bound. Among
    the levels up to `level`, it takes the one whose value at risk is least certain, and measures
    under a lacing value of that level.

    Args:
        space: `Joint(design, environment)`.
        kernel: The prior covariance of x followed by z; None fits a squared exponential one and
            Gaussian noise every 3 rounds. Where outliers are to lose their weight, there is
            `robust_ucb(Problem(space, risk=...))`.
        level: Level alpha in (0, 1) of the lower tail: the conditional value at risk is the mean of
            the worst share alpha of the values of f(x, Z).
        lacing: The lacing value to measure under: "prob" is the one of largest weight or density,
            of several the least certain; "prob-random" of several a random one; "unif" a random
            one of all.
        width: Width of the bounds. `widths.srinivas()` is sqrt(2 ln(t^2 pi^2 / 0.6));
            `widths.dual_mixture(norm_bound, noise)` has bounds with a proof, where kernel and noise
            are known.
        choose: With such bounds, "guarded" chooses by the default width as long as they certify
            the choice (`acquisition.Guarded`), else by them alone.
        ridge: Regularisation lambda where a kernel is given, the noise variance in squared reward
            units; 1 by default.
        initial: Number of pairs of the initial design, spread over the designs and drawn from the
            environment; by default none if a kernel is given.
        recommendation: Rule of `recommend`, as for `v_ucb`: "mean", "lower", "rounds" or a score.
        seed: Seed of all random choices.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, `space` is not a `Joint`, `ridge` is given
            without a kernel.

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
        optimism(choose, width, lacing),
        width=width,
        ridge=ridge,
        initial=initial,
        recommendation=recommendation,
        seed=seed,
    )


def cvar_ts(
    space: Joint,
    kernel: Kernel | None = None,
    *,
    level: float,
    lacing: Literal["prob", "unif"] = "prob",
    width: Width = srinivas(),
    ridge: float | None = None,
    scale: float = 1.0,
    initial: int | None = None,
    seed: int = 0,
) -> Optimizer:
    """CV-TS: Thompson sampling of the conditional value at risk over a random environment.

    The design maximises the conditional value at risk of a function drawn from the posterior. As
    in `cvar_ucb`, it is measured under a lacing value of the level, among those up to `level`,
    whose value at risk is least certain. For another risk, pass
    `policy=acquisition.ThompsonSampling()` to `robust_ucb`.

    Args:
        space: `Joint(design, environment)`.
        kernel: The prior covariance of x followed by z; None fits a squared exponential one and
            Gaussian noise every 3 rounds. Where outliers are to lose their weight, there is
            `robust_ucb(Problem(space, risk=...))`.
        level: Level alpha in (0, 1) of the lower tail: the conditional value at risk is the mean of
            the worst share alpha of the values of f(x, Z).
        lacing: The lacing value to measure under: "prob" is the one of largest weight or density,
            "unif" a random one.
        width: Width of the bounds by which the lacing value is chosen; `widths.srinivas()` is
            sqrt(2 ln(t^2 pi^2 / 0.6)).
        ridge: Regularisation lambda where a kernel is given, the noise variance in squared reward
            units; 1 by default.
        scale: Factor of the draw's deviation from the posterior mean.
        initial: Number of pairs of the initial design, spread over the designs and drawn from the
            environment; by default none if a kernel is given.
        seed: Seed of all random choices.

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
        width=width,
        ridge=ridge,
        initial=initial,
        seed=seed,
    )

"""Maximisation of the value at risk over a random environment, and of the worst case, its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surefoot.acquisition.lacing import Lacing
from surefoot.acquisition.recommendation import By
from surefoot.algorithms._defaults import Choose, optimism
from surefoot.algorithms._risk_averse import risk_averse
from surefoot.optimizer import Optimizer
from surefoot.risks import VaR, WorstCase
from surefoot.spaces import Joint
from surefoot.widths import Width, srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def v_ucb(
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
    """V-UCB: maximises the value at risk over a random environment.

    The design maximises the value at risk of the upper confidence bound. It is measured under a
    lacing value z, at which the bounds of f enclose those of the value at risk.

    Args:
        space: `Joint(design, environment)`.
        kernel: The prior covariance of x followed by z; None fits a squared exponential one and
            Gaussian noise every 3 rounds. Where outliers are to lose their weight, there is
            `robust_ucb(Problem(space, risk=...))`.
        level: Level alpha in (0, 1) of the lower tail: the value at risk is the alpha-quantile of
            f(x, Z).
        lacing: The lacing value to measure under: "prob" is the one of largest weight or density,
            of several the least certain; "prob-random" of several a random one; "unif" a random
            one of all.
        width: Width of the bounds. `widths.srinivas()` is sqrt(2 ln(t^2 pi^2 / 0.6)) with t one
            more than the number of rewards. The paper counts from the first chosen query:
            `widths.srinivas(initial=n)` after n initial ones.
            `widths.dual_mixture(norm_bound, noise)` has bounds with a proof, where kernel and noise
            are known.
        choose: With such bounds, "guarded" chooses by the default width as long as they certify
            the choice (`acquisition.Guarded`), else by them alone.
        ridge: Regularisation lambda where a kernel is given, the noise variance in squared reward
            units; 1 by default.
        initial: Number of pairs of the initial design, spread over the designs and drawn from the
            environment; by default none if a kernel is given.
        recommendation: Rule of `recommend`: "mean" for the measured design with the largest value
            at risk of the posterior mean; "lower" for that with the largest value at risk of the
            lower bound; "rounds" for that whose lower bound was largest in the round in which it
            was chosen, which has the regret bound of Appendix F if bounds are proved
            (`acquisition.Recorded`); or a function of a belief and a generator, a score of designs.
        seed: Seed of all random choices.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, `space` is not a `Joint`, `ridge` is given
            without a kernel.

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
        optimism(choose, width, lacing),
        width=width,
        ridge=ridge,
        initial=initial,
        recommendation=recommendation,
        seed=seed,
    )


def stable_opt(
    space: Joint,
    kernel: Kernel | None = None,
    *,
    choose: Choose = "literal",
    width: Width = srinivas(),
    ridge: float | None = None,
    initial: int | None = None,
    recommendation: By = "mean",
    seed: int = 0,
) -> Optimizer:
    """StableOpt: maximises the worst case over the environment.

    The design maximises the least upper confidence bound, and is measured under the z of the least
    lower bound there. This is the limit of `v_ucb` at level 0.

    Args:
        space: `Joint(design, environment)`.
        kernel: The prior covariance of x followed by z; None fits a squared exponential one and
            Gaussian noise every 3 rounds. Where outliers are to lose their weight, there is
            `robust_ucb(Problem(space, risk=...))`.
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
        optimism(choose, width),
        width=width,
        ridge=ridge,
        initial=initial,
        recommendation=recommendation,
        seed=seed,
    )

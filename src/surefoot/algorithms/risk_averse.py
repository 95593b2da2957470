"""Risk-averse algorithms: they maximise a risk measure over a random environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import torch

from surefoot._internal import checks
from surefoot.acquisition import (
    LargestGap,
    Policy,
    Recorded,
    RiskKnowledgeGradient,
    ScorePolicy,
    SurrogateBound,
    ThompsonSampling,
)
from surefoot.acquisition.lacing import Lacing
from surefoot.acquisition.recommendation import ROUNDS, By
from surefoot.algorithms._defaults import initial_design_size, width_or
from surefoot.estimators import Estimator, LeastSquares
from surefoot.features import Exact, Features, Nystrom, PivotedCholesky
from surefoot.hyperparameters import GAUSSIAN, HyperparameterFit
from surefoot.optimizer import Optimizer
from surefoot.risks import CVaR, Risk, VaR, WeightedVaR, WorstCase
from surefoot.spaces import Joint
from surefoot.types import InvalidInput
from surefoot.widths import Width, srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def v_ucb(
    space: Joint,
    kernel: Kernel | None = None,
    *,
    level: float | Sequence[float],
    lacing: Lacing = "prob",
    search: Literal["quantiles", "surrogate"] = "quantiles",
    features: Features | None = None,
    estimator: Estimator | None = None,
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
            f(x, Z). Several levels, in increasing order, are optimised by the same measurements
            (`acquisition.LargestGap`): `recommend(risk=VaR(alpha))` is the best design of one of
            them, `recommend()` that of the mean over them (`WeightedVaR`).
        lacing: The lacing value to measure under: "prob" is the one of largest weight or density,
            of several the least certain; "prob-random" of several a random one; "unif" a random
            one of all.
        search: How a continuous environment is handled: by "quantiles" of values that fill it
            evenly, or by the paper's local neural "surrogate", which takes seconds a round.
        features: The feature map; by default `Exact()`, or `Nystrom(PivotedCholesky())` where the
            kernel is fitted.
        estimator: Estimator of the coefficients; least squares by default.
        width: The width in place of `widths.srinivas(scale=scale)`, which is
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
            was chosen, which has the regret bound of Appendix F (`acquisition.Recorded`); or a
            function of a `Context`, a score of designs.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, `space` is not a `Joint`, `ridge` is given
            without a kernel, both `scale` and `width` are, or `search` is "surrogate" with several
            levels.

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
    surrogate = checks.choice("search", search, "quantiles", "surrogate") == "surrogate"
    several = isinstance(level, Sequence) and not isinstance(level, str)
    risk: Risk = WeightedVaR(level) if several else VaR(level)  # type: ignore[arg-type]
    policy: Policy = LargestGap(lacing) if several else ScorePolicy(lacing=lacing)
    if surrogate:
        policy = SurrogateBound(lacing)
    if recommendation == ROUNDS:
        policy = Recorded(policy)
    return _risk_averse(
        space,
        kernel,
        risk,
        policy,
        features=features,
        estimator=estimator,
        width=width_or(width, scale, srinivas(scale=scale)),
        hyperparameters=hyperparameters,
        ridge=ridge,
        initial=initial,
        recommendation=recommendation,
        seed=seed,
        device=device,
    )


def cvar_ucb(
    space: Joint,
    kernel: Kernel | None = None,
    *,
    level: float,
    lacing: Lacing = "prob",
    features: Features | None = None,
    estimator: Estimator | None = None,
    width: Width | None = None,
    ridge: float | None = None,
    scale: float = 1.0,
    initial: int | None = None,
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
        width: The width in place of `widths.srinivas(scale=scale)`, which is
            sqrt(2 ln(t^2 pi^2 / 0.6)).
        ridge: Regularisation lambda where a kernel is given, the noise variance in squared reward
            units; 1 by default.
        scale: Factor of the default width.
        initial: Number of pairs of the initial design, spread over the designs and drawn from the
            environment; by default none if a kernel is given.
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
    return _risk_averse(
        space,
        kernel,
        CVaR(level),
        ScorePolicy(lacing=lacing),
        features=features,
        estimator=estimator,
        width=width_or(width, scale, srinivas(scale=scale)),
        ridge=ridge,
        initial=initial,
        seed=seed,
        device=device,
    )


def stable_opt(
    space: Joint,
    kernel: Kernel | None = None,
    *,
    features: Features | None = None,
    estimator: Estimator | None = None,
    width: Width | None = None,
    ridge: float | None = None,
    scale: float = 1.0,
    initial: int | None = None,
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
        width: The width in place of `widths.srinivas(scale=scale)`, which is
            sqrt(2 ln(t^2 pi^2 / 0.6)).
        ridge: Regularisation lambda where a kernel is given, the noise variance in squared reward
            units; 1 by default.
        scale: Factor of the default width.
        initial: Number of pairs of the initial design, spread over the designs and drawn from the
            environment; by default none if a kernel is given.
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
    return _risk_averse(
        space,
        kernel,
        WorstCase(),
        ScorePolicy(),
        features=features,
        estimator=estimator,
        width=width_or(width, scale, srinivas(scale=scale)),
        ridge=ridge,
        initial=initial,
        seed=seed,
        device=device,
    )


def rho_kg(
    space: Joint,
    kernel: Kernel | None = None,
    *,
    level: float,
    fantasies: int = 10,
    samples: int = 40,
    values: int = 40,
    recommendation: By = "mean",
    features: Features | None = None,
    estimator: Estimator | None = None,
    width: Width | None = None,
    hyperparameters: HyperparameterFit | None = None,
    ridge: float | None = None,
    scale: float = 1.0,
    initial: int | None = None,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """rho-KG^apx: the one-step knowledge gradient of the value at risk.

    It measures the pair (x, z) that raises the largest value at risk among the measured designs
    most in expectation. A baseline for `v_ucb`, at ten to a hundred times the time of a round.

    Args:
        space: `Joint(design, environment)`.
        kernel: The prior covariance of x followed by z; None fits a squared exponential one, and
            the noise, every 3 rounds: Gaussian noise with `LeastSquares`, Student-t noise with any
            other estimator.
        level: Level alpha in (0, 1) of the lower tail: the value at risk is the alpha-quantile of
            f(x, Z).
        fantasies: Number of outcomes of a measurement that the expectation is over.
        samples: Number of functions drawn from each posterior.
        values: Number of values that represent a continuous environment; those of a finite one are
            all used.
        recommendation: Rule of `recommend`: "mean" for the measured design with the largest value
            at risk of the posterior mean; "lower" for that with the largest value at risk of the
            lower bound; or a function of a `Context`, a score of all designs. The authors' rule is
            `acquisition.ExpectedRisk(values, samples)`.
        features: The feature map; by default `Exact()`, or `Nystrom(PivotedCholesky())` where the
            kernel is fitted.
        estimator: Estimator of the coefficients; least squares by default.
        width: The width in place of `widths.srinivas(scale=scale)`, which is
            sqrt(2 ln(t^2 pi^2 / 0.6));
            only the interval of `recommend` depends on it.
        hyperparameters: How kernel and noise are fitted, in place of the default, without a kernel;
            `HyperparameterFit(nu=2.5, dof=GAUSSIAN, lengthscales="short")` is as in the authors'
            code.
        ridge: Regularisation lambda where a kernel is given, the noise variance in squared reward
            units; 1 by default.
        scale: Factor of the default width.
        initial: Number of pairs of the initial design, spread over the designs and drawn from the
            environment; by default none if a kernel is given.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, `space` is not a `Joint`, `ridge` is given
            without a kernel, or both `scale` and `width` are.

    References:
        Cakmak, Astudillo, Frazier and Zhou 2020, "Bayesian optimization of risk measures".

    Example:
        >>> import surefoot as sf
        >>> load = sf.FiniteEnvironment([0.0, 0.5, 1.0], [0.5, 0.3, 0.2])
        >>> space = sf.Joint(sf.Arms([[0.0], [0.5], [1.0]]), load)
        >>> kernel = sf.kernels.squared_exponential([0.5, 0.5])
        >>> optimizer = sf.algorithms.rho_kg(space, kernel, level=0.2, ridge=0.01)
        >>> for _ in range(3):
        ...     query = optimizer.ask()
        ...     x, z = float(query.point), float(query.environment)
        ...     info = optimizer.tell(query, x - 2 * x * z)
        >>> info.round
        3
    """
    return _risk_averse(
        space,
        kernel,
        VaR(level),
        RiskKnowledgeGradient(fantasies, samples, values),
        features=features,
        estimator=estimator,
        width=width_or(width, scale, srinivas(scale=scale)),
        hyperparameters=hyperparameters,
        recommendation=recommendation,
        ridge=ridge,
        initial=initial,
        seed=seed,
        device=device,
    )


def _risk_averse(
    space: Joint,
    kernel: Kernel | None,
    risk: Risk,
    policy: Policy,
    *,
    features: Features | None,
    estimator: Estimator | None,
    width: Width,
    ridge: float | None,
    initial: int | None,
    seed: int,
    device: str | torch.device,
    hyperparameters: HyperparameterFit | None = None,
    recommendation: By = "mean",
) -> Optimizer:
    """The optimizer of a policy and a risk, whose kernel is given or fitted."""
    if not isinstance(space, Joint):
        raise InvalidInput(f"`space` is {space!r}, expected `Joint(design, environment)`.")
    if kernel is None and ridge is not None:
        raise InvalidInput("`ridge` requires a `kernel`: without one, the noise is fitted.")
    estimator = estimator or LeastSquares()
    tail = GAUSSIAN if isinstance(estimator, LeastSquares) else None
    fit = hyperparameters or HyperparameterFit(nu=None, dof=tail, every=3, lengthscales="short")
    plain: Features = Exact() if kernel is not None else Nystrom(PivotedCholesky())
    first = 0 if kernel is not None else initial_design_size(space)
    return Optimizer(
        space,
        kernel,
        risk=risk,
        features=features or plain,
        estimator=estimator,
        width=width,
        policy=policy,
        hyperparameters=fit if kernel is None else hyperparameters,
        recommendation=recommendation,
        ridge=1.0 if ridge is None else ridge,
        initial=first if initial is None else initial,
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
    return _risk_averse(
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

"""GP-UCB, the algorithm that the others start from, and GP-TS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from surefoot._internal import checks
from surefoot.acquisition import ThompsonSampling
from surefoot.algorithms._defaults import Choose, bounds_or_heuristic, optimism, width_or
from surefoot.estimators import Estimator, LeastSquares
from surefoot.features import Exact, Features
from surefoot.optimizer import Method, Optimizer
from surefoot.problem import Problem
from surefoot.spaces import Space
from surefoot.tails import Moment
from surefoot.widths import Width, analytic_mixture, dual_mixture

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def gp_ucb(
    space: Space,
    kernel: Kernel,
    *,
    noise: float | None = None,
    moment: Moment | None = None,
    choose: Choose = "literal",
    norm_bound: float | None = None,
    delta: float = 0.1,
    features: Features | None = None,
    width: Width | None = None,
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    r"""GP-UCB: maximises :math:`\mu(x) + \beta_t \sigma(x)`, by least squares.

    Rewards are not centred or scaled, and there is no initial design. Without `noise` or `moment`
    the width is a heuristic, that of Srinivas et al. for a single point; for a simultaneous bound
    over D arms under a Gaussian process prior pass `delta` / D. With one of them and a `norm_bound`
    the bounds are proved.

    Args:
        space: `Arms` or `Box`.
        kernel: The prior covariance.
        noise: Sub-Gaussian constant R of the noise, in reward units, where it is known: the width
            is then `widths.dual_mixture`.
        moment: Bound on a moment of the rewards where tails may be heavy: the width is then
            `widths.self_normalised`.
        choose: "literal" maximises the upper bound of the width. "guarded", with `noise` or
            a `moment` of order 2, chooses by the heuristic as long as the bounds certify it
            (`acquisition.Guarded`): regret is that of the heuristic in practice, and at most 10
            times the bound of the theorem, 5 times with `moment`. On 20 functions each, 0.6 (two
            variables) to 1.3 (one) times that of the bounds alone.
        norm_bound: Bound B on the norm of f, in reward units; None finds it from the rewards and by
            doubling, from R (`surefoot.widths`): the bounds are not proved then until it has
            reached the norm.
        delta: Probability with which the bounds may fail.
        features: The feature map; exact by default.
        width: The width in place of these and of `widths.srinivas(delta, scale)`.
        ridge: Regularisation lambda, the noise variance in squared reward units.
        scale: Factor of the default width; with less than 1 no theorem holds.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, `norm_bound` or "guarded" is given without
            `noise` or `moment`, or two of these and `width`.

    References:
        Srinivas, Krause, Kakade and Seeger 2010, "Gaussian process optimization in the bandit
        setting", Algorithm 1; Flynn and Reeb 2024, "Tighter confidence bounds for sequential kernel
        regression", for known noise.

    Example:
        >>> import surefoot as sf
        >>> space, kernel = sf.Box([0.0], [1.0]), sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.algorithms.gp_ucb(space, kernel, ridge=0.01)
        >>> for _ in range(8):
        ...     query = optimizer.ask()
        ...     info = optimizer.tell(query, -float((query.point - 0.3).square()))
        >>> abs(float(optimizer.recommend().point) - 0.3) < 0.05
        True
    """
    method = Method(
        kernel,
        features=Exact() if features is None else features,
        estimator=LeastSquares(),
        width=bounds_or_heuristic(width, scale, kernel, noise, norm_bound, delta, moment),
        policy=optimism(
            choose,
            # Bounds by a lower moment refuse too little of what a guard is there for.
            proved=noise is not None or (moment is not None and moment.alpha == 1.0),
            delta=delta,
            slack=9.0 if moment is None else 4.0,
        ),
        ridge=ridge,
    )
    return Optimizer(Problem(space).to(device), method, seed=seed)


def gp_ts(
    space: Space,
    kernel: Kernel,
    *,
    noise: float,
    norm_bound: float | None = None,
    delta: float = 0.1,
    features: Features | None = None,
    estimator: Estimator | None = None,
    width: Width | None = None,
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    r"""GP-TS: in each round, the maximiser of a function drawn from a widened posterior.

    The function is drawn from the posterior and its distance from the mean multiplied, at each
    point, such that its deviation is half the distance of the bounds of `widths.dual_mixture` of
    level :math:`\delta / 2`. The theorem is for :math:`GP(\mu, v_t^2 \Sigma)` with a wider v_t. At
    `scale` = 1 much is explored for a thousand rounds. `width=widths.constant(1.0)` draws from the
    posterior itself, as is usual in practice, and the interval of `recommend` is then the posterior
    mean plus or minus one standard deviation. With `features=QuadratureFourier()` it is Thompson
    sampling in quadrature Fourier features.

    Args:
        space: `Arms` or `Box`. Draws are joint over all arms; on a box they are maximised by
            gradients from many starts, without the paper's discretisation.
        kernel: The prior covariance.
        noise: Sub-Gaussian constant R of the noise, in reward units.
        norm_bound: Bound B on the norm of f, in reward units; None finds it from the rewards and by
            doubling, from R (`surefoot.widths`).
        delta: Probability with which the regret bound may fail.
        features: The feature map; exact by default.
        estimator: Estimator of the coefficients; least squares by default.
        width: The width in place of `widths.dual_mixture`, and of `widths.analytic_mixture` for
            another estimator.
        ridge: Regularisation lambda, the noise variance in squared reward units.
        scale: Factor of that width; with less than 1 no theorem holds.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, or both `scale` and `width` are
            given.

    References:
        Chowdhury and Gopalan 2017, "On kernelized multi-armed bandits", Algorithm 2 and Theorem 4;
        Mutny and Krause 2018, "Efficient high dimensional Bayesian optimization with additivity
        and quadrature Fourier features", for Fourier features.

    Example:
        >>> import surefoot as sf
        >>> arms = sf.Arms([[i / 20] for i in range(21)])
        >>> optimizer = sf.algorithms.gp_ts(
        ...     arms, sf.kernels.squared_exponential(0.2), noise=0.1, ridge=0.01, scale=0.2
        ... )
        >>> for _ in range(20):
        ...     query = optimizer.ask()
        ...     info = optimizer.tell(query, -float((query.point - 0.3).square()))
        >>> abs(float(optimizer.recommend().point) - 0.3) < 0.06
        True
    """
    half = checks.probability("delta", delta) / 2.0  # the other half is that of the draws
    bounds = dual_mixture if estimator is None else analytic_mixture
    method = Method(
        kernel,
        features=Exact() if features is None else features,
        estimator=LeastSquares() if estimator is None else estimator,
        width=width_or(width, scale, bounds(norm_bound, noise, half, scale)),
        policy=ThompsonSampling(by_width=True),
        ridge=ridge,
    )
    return Optimizer(Problem(space).to(device), method, seed=seed)

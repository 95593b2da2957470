"""GP-UCB, the algorithm that the others start from, and GP-TS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surefoot._internal import checks
from surefoot.acquisition import ThompsonSampling
from surefoot.algorithms._defaults import Choose, optimism
from surefoot.features import Exact, Features
from surefoot.optimizer import Method, Optimizer
from surefoot.spaces import Space
from surefoot.widths import Width, dual_mixture, srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def gp_ucb(
    space: Space,
    kernel: Kernel,
    *,
    width: Width = srinivas(),
    choose: Choose = "literal",
    features: Features = Exact(),
    ridge: float = 1.0,
    seed: int = 0,
) -> Optimizer:
    r"""GP-UCB: maximises :math:`\mu(x) + \beta_t \sigma(x)`, by least squares.

    Rewards are not centred or scaled, and there is no initial design.

    Args:
        space: `Arms` or `Box`.
        kernel: The prior covariance.
        width: Width of the bounds. That of Srinivas et al. is a heuristic for a single point; for
            a simultaneous bound over D arms under a Gaussian process prior pass `delta` / D to it.
            `widths.dual_mixture(norm_bound, noise)` has bounds with a proof where the noise is
            sub-Gaussian, `widths.self_normalised(moment, norm_bound)` where tails may be heavy.
        choose: "literal" maximises the upper bound of the width. "guarded", with one of these
            (of a moment of order 2), chooses by the heuristic as long as the bounds certify it
            (`acquisition.Guarded`): regret is that of the heuristic in practice, and at most 10
            times the bound of the theorem, 5 times with a moment. On 20 functions each, 0.6 (two
            variables) to 1.3 (one) times that of the bounds alone.
        features: The feature map.
        ridge: Regularisation lambda, the noise variance in squared reward units.
        seed: Seed of all random choices.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, or "guarded" is given without bounds that
            have a proof.

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
    method = Method(kernel, ridge, features=features, width=width, policy=optimism(choose, width))
    return Optimizer(space, method, seed=seed)


def gp_ts(
    space: Space,
    kernel: Kernel,
    *,
    noise: float,
    norm_bound: float | None = None,
    delta: float = 0.1,
    features: Features = Exact(),
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
) -> Optimizer:
    r"""GP-TS: in each round, the maximiser of a function drawn from a widened posterior.

    The function is drawn from the posterior and its distance from the mean multiplied, at each
    point, such that its deviation is half the distance of the bounds of `widths.dual_mixture` of
    level :math:`\delta / 2`. The theorem is for :math:`GP(\mu, v_t^2 \Sigma)` with a wider v_t. At
    `scale` = 1 much is explored for a thousand rounds. With `features=QuadratureFourier()` it is
    Thompson sampling in quadrature Fourier features. To draw from the posterior itself, as is usual
    in practice, pass `Method(kernel, policy=acquisition.ThompsonSampling())` to `Optimizer`.

    Args:
        space: `Arms` or `Box`. Draws are joint over all arms; on a box they are maximised by
            gradients from many starts, without the paper's discretisation.
        kernel: The prior covariance.
        noise: Sub-Gaussian constant R of the noise, in reward units.
        norm_bound: Bound B on the norm of f, in reward units; None finds it from the rewards and by
            doubling, from R (`surefoot.widths`).
        delta: Probability with which the regret bound may fail.
        features: The feature map.
        ridge: Regularisation lambda, the noise variance in squared reward units.
        scale: Factor of the width; with less than 1 no theorem holds.
        seed: Seed of all random choices.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range.

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
    method = Method(
        kernel,
        ridge,
        features=features,
        width=dual_mixture(norm_bound, noise, half, scale),
        policy=ThompsonSampling(by_width=True),
    )
    return Optimizer(space, method, seed=seed)

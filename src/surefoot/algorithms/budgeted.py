"""GP-UCB with a budget: on a sketch that is resampled by posterior variance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surefoot.acquisition import Plan
from surefoot.algorithms._defaults import Choose, optimism
from surefoot.features import LeverageSampling, Nystrom
from surefoot.optimizer import Method, Optimizer
from surefoot.spaces import Space
from surefoot.widths import bkb as bkb_width
from surefoot.widths import dual_mixture

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def bkb(
    space: Space,
    kernel: Kernel,
    *,
    noise: float,
    norm_bound: float | None = None,
    oversampling: float | None = None,
    delta: float = 0.1,
    choose: Choose = "literal",
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
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
            None has that of the theory, which includes nearly all pulled arms: of a known number
            of rounds it is `features.oversampling(horizon, delta, accuracy)`, else it is found by
            doubling. The bounds hold for any, and 5 suffices in practice.
        delta: Probability with which the bounds may fail.
        choose: "literal" maximises the upper bound of the width. "guarded" has the bounds of
            `widths.dual_mixture`, which hold for any dictionary and are narrower, and chooses by
            `widths.srinivas(delta)` as long as they certify it (`acquisition.Guarded`): about half
            the regret of these bounds alone after 1,000 rounds on 500 arms, and in a round at most
            10 times the distance of the bounds.
        ridge: Regularisation lambda, in squared reward units.
        scale: Factor of the width; with less than 1 no theorem holds.
        seed: Seed of all random choices.

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
    bounds = (dual_mixture if choose == "guarded" else bkb_width)(norm_bound, noise, delta, scale)
    method = Method(
        kernel,
        ridge,
        features=Nystrom(LeverageSampling(oversampling, delta=delta)),
        width=bounds,
        policy=optimism(choose, bounds),
        plan=Plan(1),
    )
    return Optimizer(space, method, seed=seed)


def bbkb(
    space: Space,
    kernel: Kernel,
    *,
    noise: float,
    norm_bound: float | None = None,
    ratio: float = 2.0,
    oversampling: float | None = None,
    delta: float = 0.1,
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
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
            None has that of the theory, which includes nearly all pulled arms: of a known number
            of rounds it is `features.oversampling(horizon, delta, accuracy)`, else it is found by
            doubling. The bounds hold for any, and 5 suffices in practice.
        delta: Probability with which the bounds may fail.
        ridge: Regularisation lambda, in squared reward units.
        scale: Factor of the width; with less than 1 no theorem holds.
        seed: Seed of all random choices.

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
    method = Method(
        kernel,
        ridge,
        features=Nystrom(LeverageSampling(oversampling, "adaptive", ratio, delta=delta)),
        width=bkb_width(norm_bound, noise, delta, scale * ratio**0.5),  # Proposition 2
        plan=Plan(1),
    )
    return Optimizer(space, method, seed=seed)

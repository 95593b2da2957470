"""GP-UCB for heavy-tailed rewards of which no moment is known: truncation by leverage.

No theorem has its constants, and a round takes time that grows with the number of rewards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from surefoot import Method, Optimizer
from surefoot.estimators import Constants, Estimate, Sample
from surefoot.features import Exact, Features
from surefoot.spaces import Space
from surefoot.types import InvalidInput
from surefoot.widths import Progress, Width
from surefoot_experiments.baselines.arguments import positive, probability
from surefoot_experiments.off_policy import leverage_threshold


@dataclass(frozen=True)
class TuningFreeTruncation:
    r"""Ridge regression without the rewards of :math:`h_\tau |y_\tau| > b_t`.

    :math:`h_\tau = \|V_t^{-1/2} \phi_\tau\|` is the root of the leverage of a pull, and b_t solves

    .. math:: \sum_\tau \min(h_\tau^2 y_\tau^2, b_t^2) = b_t^2 L_t,
        \qquad L_t = \ln\frac{\pi^2 t^2}{3 \delta}

    (t / 2 in place of L_t while that is less), so that fewer than L_t rewards are truncated. No
    moment, horizon or scale is given: b_t is at most a constant times the threshold that the best
    known moment of order 1 + a would give, for every a for which there is one. All rewards are
    decided anew in each round, in time that grows with their number. As in `Truncation`, it is
    about zero.

    Args:
        delta: Probability with which the bounds may fail.

    Raises:
        InvalidInput: If `delta` is not between 0 and 1.

    References:
        The equation: Wang, Zheng, Zhou and Zhou 2021, "A new principle for tuning-free Huber
        regression", and for bandits Genalti et al. 2024, "(epsilon, u)-adaptive regret minimization
        in heavy-tailed bandits", whose Theorem 1 shows that some assumption has to replace the
        moment: see `tuning_free`. In the norm of V: Shao et al. 2018 (TOFU).

    Example:
        >>> import surefoot as sf
        >>> arms, kernel = sf.Arms([[0.0], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.Optimizer(arms, sf.Method(kernel, estimator=TuningFreeTruncation()))
        >>> rewards = [1.0, 0.9, 1.1, 1.0] * 4 + [1e6]
        >>> info = optimizer.tell_all([0] * 17, rewards)
        >>> info.truncated
        1
    """

    delta: float = 0.1

    def __post_init__(self) -> None:
        probability("delta", self.delta)

    def init(self, constants: Constants) -> tuple[()]:
        """The state before the first reward."""
        return ()

    def update(self, state: tuple[()], site: int, reward: float) -> tuple[()]:
        """The state after one more reward at a site."""
        return state

    def estimate(self, state: tuple[()], sample: Sample) -> tuple[Estimate, tuple[()]]:
        """The estimate from all rewards, and the next state."""
        site, rewards = sample.site.cpu().numpy(), sample.rewards.cpu().numpy()
        sizes = self._sizes(sample, site, rewards)
        limit = leverage_threshold(sizes, rounds_logarithm(self.delta, len(rewards)))
        cut = sizes > limit
        kept = np.where(cut, 0.0, rewards)
        sums = torch.from_numpy(np.bincount(site, kept, len(sample.features)))
        theta = sample.factor.solve(sample.moments(sums.to(sample.features)))
        found = Estimate(
            theta, threshold=limit, truncated=int(cut.sum()), last_truncated=bool(cut[-1])
        )
        return found, state

    def weights(self, estimate: Estimate, sample: Sample) -> Tensor:
        """1 for the rewards that were kept (t,), 0 for the others."""
        sizes = self._sizes(sample, sample.site.cpu().numpy(), sample.rewards.cpu().numpy())
        return torch.from_numpy((sizes <= estimate.threshold).astype(float))

    def _sizes(self, sample: Sample, site: np.ndarray, rewards: np.ndarray) -> np.ndarray:
        """h |y| of each reward (t,)."""
        directions = sample.factor.directions(sample.features.cpu().numpy())  # (m, S)
        return np.sqrt(np.einsum("ms,ms->s", directions, directions))[site] * np.abs(rewards)


@dataclass(frozen=True)
class tuning_free:  # noqa: N801
    """Width of rewards that are truncated by leverage, for no known moment.

    B + (4.1 + 3.8 K) b_t L_t / sqrt(ridge), with the threshold b_t and the logarithm L_t of
    `TuningFreeTruncation`. In place of a known moment, the tails are assumed to be regular:
    E[|y| 1{|y| > s}] <= K s P(|y| > s) for all s above the threshold. Pareto tails of index p have
    K = p / (p - 1), lighter ones less; 2 is for p >= 2, and 3 for p >= 1.5.

    No theorem has these constants: they treat the threshold as fixed, though it depends on the
    rewards, and so do not account for a union over thresholds. The rewards that are kept
    contribute by Pinelis's inequality, with their sum of squares at most 3.73 b^2 L (Bernstein's
    inequality for the empirical sum b^2 L), and those that are truncated by the bias 3.73 K b L.
    By the equation of b_t, b_t L_t is at most a constant times
    sqrt(m) v^(1/(1+a)) L^(a/(1+a)) t^((1-a)/(2(1+a))), the rate of `adaptive_fourier`, for every a
    and v for which the moment is bounded.

    Args:
        norm_bound: Bound B on the RKHS norm ||f||, in reward units; None doubles it from
            b_t sqrt(L_t), which bounds the root mean square of a reward.
        delta: Nominal probability that the bounds fail in some round, in (0, 1); pass the same
            value to `TuningFreeTruncation`.
        tail: Constant K of the assumption on the tails, at least 1.
        scale: Factor on the whole width; 1 has the constants above.

    Raises:
        InvalidInput: For an argument out of range.

    References:
        Pinelis 1994, Theorem 3.5; Genalti et al. 2024, "(epsilon, u)-adaptive regret minimization
        in heavy-tailed bandits"; Chowdhury and Gopalan 2019, Theorem 3, for the rate.

    Example:
        >>> progress = Progress(100, information_gain=12.5, dimension=20, ridge=1.0, threshold=0.5)
        >>> tuning_free(norm_bound=1.0)(progress)
        75.3...
    """

    norm_bound: float | None = None
    delta: float = 0.1
    tail: float = 2.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.norm_bound is not None:
            positive("norm_bound", self.norm_bound)
        probability("delta", self.delta)
        positive("scale", self.scale)
        if positive("tail", self.tail) < 1.0:
            raise InvalidInput(f"`tail` is {self.tail!r}, expected at least 1.")

    def __call__(self, progress: Progress) -> float:
        logarithm = rounds_logarithm(self.delta, progress.round)
        known = 0.0 if math.isinf(progress.threshold) else progress.threshold  # before a reward
        unit = known * math.sqrt(logarithm)
        doublings = (max(progress.round, 2).bit_length() - 1).bit_length() - 1
        norm = unit * 2.0**doublings if self.norm_bound is None else self.norm_bound
        deviation = unit * math.sqrt(logarithm / progress.ridge)
        return self.scale * (norm + (4.1 + 3.8 * self.tail) * deviation)


def rounds_logarithm(delta: float, rewards: int) -> float:
    """L_t = ln(pi^2 t^2 / (3 delta)): bounds of two tails in all rounds, without a horizon."""
    return 2.0 * math.log(math.pi * max(rewards, 1)) - math.log(3.0 * delta)


def tuning_free_gp_ucb(
    space: Space,
    kernel: Kernel,
    *,
    norm_bound: float | None = None,
    delta: float = 0.1,
    tail: float = 2.0,
    features: Features | None = None,
    width: Width | None = None,
    ridge: float = 1.0,
    scale: float = 1.0,
    seed: int = 0,
) -> Optimizer:
    """GP-UCB for heavy-tailed rewards of which no moment is known.

    Rewards are truncated where h |y| exceeds a threshold, with h^2 = phi(x)^T V^{-1} phi(x) the
    leverage. Threshold and width are computed from the rewards, such that fewer than
    ln(pi^2 t^2 / (3 delta)) rewards are truncated. The constants of the width do not account for
    the union over thresholds, so that the probability 1 - delta is not proved.

    Args:
        space: `Arms` or `Box`.
        kernel: The prior covariance, with k(x, x) <= 1.
        norm_bound: Bound B on the norm of f, in reward units; None finds it by doubling.
        delta: Probability with which the bounds may fail.
        tail: Constant K >= 1 of the assumption on the tails that replaces a known moment, see
            `tuning_free`: 2 for Pareto tails of index 2 and above, 3 for 1.5 and above.
        features: The feature map, `Exact()` by default.
        width: The width in place of `tuning_free`.
        ridge: Regularisation lambda, in squared reward units.
        scale: Factor of that width.
        seed: Seed of all random choices.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range.

    References:
        Wang, Zheng, Zhou and Zhou 2021, "A new principle for tuning-free Huber regression"; Genalti
        et al. 2024, "(epsilon, u)-adaptive regret minimization in heavy-tailed bandits"; Chowdhury
        and Gopalan 2019, for the rate of the width.

    Example:
        >>> import surefoot as sf
        >>> space, kernel = sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> optimizer = tuning_free_gp_ucb(space, kernel)
        >>> info = optimizer.tell_all([0, 1, 2] * 10, [0.1, 0.9, 0.2] * 9 + [0.1, 0.9, -1e6])
        >>> info.truncated, optimizer.recommend().arm
        (1, 1)
    """
    return Optimizer(
        space,
        Method(
            kernel,
            features=Exact() if features is None else features,
            estimator=TuningFreeTruncation(delta),
            width=tuning_free(norm_bound, delta, tail, scale) if width is None else width,
            ridge=ridge,
        ),
        seed=seed,
    )

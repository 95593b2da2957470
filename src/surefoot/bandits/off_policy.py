"""Value of a policy from the decisions of another one that were logged."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from surefoot._internal import checks
from surefoot._internal.linalg import Floats
from surefoot.bandits.contextual import Decision
from surefoot.estimators.tuning_free_truncation import leverage_threshold
from surefoot.types import InvalidInput

_PASSES = 3  # of the mean that terms are truncated about


class PolicyValue(NamedTuple):
    """Mean reward of a policy, with an interval.

    Args:
        value: The estimate, in reward units.
        lower: Lower end of the interval.
        upper: Upper end.
        effective: Number of decisions that the weights are worth, (sum w)^2 / sum w^2.
        truncated: Number of terms that were truncated.
    """

    value: float
    lower: float
    upper: float
    effective: float
    truncated: int


class Replayed(NamedTuple):
    """Result of a replay.

    Args:
        rewards: Rewards (n,) of the decisions that agreed with the log, in order.
        seen: Number of logged decisions.
    """

    rewards: Floats
    seen: int

    @property
    def value(self) -> float:
        """Mean reward."""
        return float(self.rewards.mean())


class _Learner(Protocol):
    def decide(self, options: ArrayLike) -> Decision: ...
    def tell(self, decision: Decision, reward: float) -> None: ...
    def forget(self, decision: Decision) -> None: ...


def replay(log: Iterable[tuple[ArrayLike, int, float]], bandit: _Learner) -> Replayed:
    """Run a bandit on logged decisions that were made uniformly at random.

    It learns from those on which it agrees with the log, and the rewards of these are as if it had
    made them itself.

    Args:
        log: Options, index of the logged action and its reward, of each decision.
        bandit: The bandit, which learns.

    Returns:
        The rewards that it got.

    References:
        Li et al. 2011, "Unbiased offline evaluation of contextual-bandit-based news article
        recommendation algorithms".

    Example:
        >>> import surefoot as sf
        >>> log = [([[0.0], [1.0]], action, float(action)) for action in (0, 1, 1, 0, 1, 0, 1, 1)]
        >>> sf.bandits.replay(log, sf.bandits.contextual(1)).seen
        8
    """
    rewards, seen = [], 0
    for options, action, reward in log:
        seen += 1
        decision = bandit.decide(options)
        if decision.action == action:
            bandit.tell(decision, reward)
            rewards.append(float(reward))
        else:
            bandit.forget(decision)
    return Replayed(np.array(rewards), seen)


def ips(rewards: ArrayLike, weights: ArrayLike, *, level: float = 0.95) -> PolicyValue:
    r"""Value of a policy by inverse propensities, for rewards and weights with heavy tails.

    It is the mean of :math:`c + w_i (r_i - c)`, of which c, the self-normalised estimate, takes
    most of the variance of the weights out. See `doubly_robust` for the truncation.

    Args:
        rewards: Rewards (n,) of the logged decisions.
        weights: Probabilities (n,) of the logged actions under the policy, divided by their
            propensities when they were logged.
        level: Confidence level of the interval.

    Returns:
        The value.

    Raises:
        InvalidInput: If lengths differ, a number is not finite or a weight negative.

    References:
        Horvitz and Thompson 1952; Swaminathan and Joachims 2015, "The self-normalized estimator for
        counterfactual learning".

    Example:
        >>> import surefoot as sf
        >>> value = sf.bandits.ips([1.0, 0.0, 1.0, 1.0] * 50, [2.0, 2.0, 0.0, 0.0] * 50)
        >>> value.value
        0.5
    """
    r, w = _columns(rewards, weights)
    c = float(w @ r) / max(float(w.sum()), 1e-300)
    return _truncated(np.full(len(r), c), w * (r - c), w, level)


def doubly_robust(
    rewards: ArrayLike,
    weights: ArrayLike,
    predicted: ArrayLike,
    predicted_of_policy: ArrayLike,
    *,
    level: float = 0.95,
) -> PolicyValue:
    r"""Value of a policy by predictions, corrected by weighted residuals of the log.

    It is the mean of :math:`q_\pi(x_i) + w_i (r_i - q(x_i, a_i))`. Few of the correcting terms,
    those of large weights, may dominate it. They are truncated at the b of

    .. math:: \sum_i \min(e_i^2, b^2) = b^2 \ln\frac{2}{1 - \text{level}},

    about their own truncated mean, which leaves out fewer than that logarithm of them whatever
    moments they have. The interval is the usual one of what is left, longer at each end by
    (3 k + 2) b / n, with k the number of terms truncated there: what they may hold beyond b. For
    weights without a variance nothing is proved; notes/bandits.md has the coverage.

    Args:
        rewards: Rewards (n,) of the logged decisions.
        weights: Probabilities (n,) of the logged actions under the policy, divided by their
            propensities when they were logged.
        predicted: Predicted rewards q(x, a) (n,) of the logged actions, from other data.
        predicted_of_policy: Predicted rewards (n,) of the actions of the policy, its mean.
        level: Confidence level of the interval.

    Returns:
        The value.

    Raises:
        InvalidInput: If lengths differ, a number is not finite or a weight negative.

    References:
        Dudík, Langford and Li 2011, "Doubly robust policy evaluation and learning"; Wang, Zheng,
        Zhou and Zhou 2021, "A new principle for tuning-free Huber regression", for the equation.

    Example:
        >>> import surefoot as sf
        >>> value = sf.bandits.doubly_robust([1.0, 3.0], [1.0, 1.0], [1.0, 3.0], [2.0, 4.0])
        >>> value.value
        3.0
    """
    r, w, q, target = _columns(rewards, weights, predicted, predicted_of_policy)
    return _truncated(target, w * (r - q), w, level)


def _truncated(target: Floats, terms: Floats, weights: Floats, level: float) -> PolicyValue:
    """Mean of targets plus terms, with the terms truncated about their own mean."""
    number = len(terms)
    logarithm = math.log(2.0 / (1.0 - checks.probability("level", level)))
    center, bound = float(np.median(terms)), 0.0
    for _ in range(_PASSES):
        bound = leverage_threshold(np.abs(terms - center), logarithm)
        center += float((terms - center).clip(-bound, bound).mean())
    kept = target + center + (terms - center).clip(-bound, bound)
    value = float(kept.mean())
    reach = NormalDist().inv_cdf(0.5 + 0.5 * level) * float(kept.std()) / math.sqrt(number)
    above, below = terms - center > bound, center - terms > bound
    unseen = [(3.0 * float(side.sum()) + 2.0) * bound / number for side in (below, above)]
    effective = float(weights.sum()) ** 2 / max(float(weights @ weights), 1e-300)
    return PolicyValue(
        value,
        value - reach - unseen[0],
        value + reach + unseen[1],
        effective,
        int(above.sum() + below.sum()),
    )


def _columns(rewards: ArrayLike, weights: ArrayLike, *others: ArrayLike) -> list[Floats]:
    columns = [np.asarray(one, dtype=np.float64) for one in (rewards, weights, *others)]
    for column in columns:
        if column.ndim != 1 or column.shape != columns[0].shape or not len(column):
            raise InvalidInput(
                f"a column has the shape {column.shape}, expected ({len(columns[0])},) as the "
                "`rewards`, at least one."
            )
        if not np.isfinite(column).all():
            raise InvalidInput("a column has values that are not finite, expected numbers.")
    if (columns[1] < 0.0).any():
        raise InvalidInput("`weights` has negative values, expected ratios of probabilities.")
    return columns

"""Linear and kernel bandits whose options come with each decision."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike

from surefoot._internal import checks
from surefoot._internal.linalg import Floats
from surefoot._internal.lock import Lock, one_at_a_time
from surefoot._internal.numbers import LAST_DIGITS, TINY
from surefoot._internal.process_settings import with_own_settings
from surefoot._internal.user_warnings import warn
from surefoot.bandits.one_pass import OnePass, one_pass
from surefoot.bandits.running_ridge import Anticipating, RunningRidge
from surefoot.estimators import LeastSquares
from surefoot.regression.embedding import Embedding
from surefoot.types import InvalidInput
from surefoot.widths import Progress, Width, constant, srinivas

_CHECKED = 100  # rewards
_OTHER_UNIT = 100.0  # times more or less than is expected


@dataclass(slots=True, eq=False)
class Decision:
    """One decision, which its reward is told for, whenever that comes.

    Args:
        action: Index of the chosen option.
        propensity: Probability with which it was chosen, given what was known and which draws
            Thompson sampling chose from.
        feature: Features (m,) of it.
        bandit: Of which bandit it is; copies of a bandit take it, too.
        is_open: Whether its reward is still to come; `tell` and `forget` close it.
    """

    action: int
    propensity: float
    feature: Floats
    bandit: str
    is_open: bool = True


@dataclass(frozen=True)
class _Rows:
    """Options are their features."""

    dimension: int

    def __call__(self, options: Floats) -> Floats:
        return options


@dataclass(frozen=True)
class _Mapped:
    """Features of options by an embedding."""

    embedding: Embedding

    @property
    def dimension(self) -> int:
        return self.embedding.dimension

    def __call__(self, options: Floats) -> Floats:
        with torch.no_grad():
            return self.embedding(torch.from_numpy(options)).numpy()


class Contextual:
    """A contextual bandit, which `contextual` makes.

    Args:
        features: Map from options (k, d) to features.
        actions: Number of actions that are the same in each decision; 0 for options of their own.
        estimator: Estimate of the coefficients.
        width: Multiplier of the standard deviation.
        policy: "ucb" or "thompson".
        ridge: Regularisation, in squared reward units.
        draws: Number of draws of Thompson sampling.
        floor: Probability of a decision at random, above 0 for estimates of other policies.
        seed: Seed of all random choices.

    Example:
        >>> import surefoot as sf
        >>> bandit = sf.bandits.contextual(2, policy="thompson")
        >>> decision = bandit.decide([[1.0, 0.0], [0.0, 1.0]])
        >>> 0.3 < decision.propensity < 0.7
        True
    """

    def __init__(
        self,
        features: _Rows | _Mapped,
        actions: int,
        estimator: OnePass,
        width: Width,
        policy: Literal["ucb", "thompson"],
        ridge: float,
        draws: int,
        floor: float,
        seed: int,
    ) -> None:
        self._lock = Lock()
        self._features = features
        self._actions = actions
        self._estimator = estimator
        self._width = width
        self._policy = policy
        self._draws = draws
        self._floor = floor
        self._random = np.random.default_rng(seed)
        self._name = secrets.token_hex(8)
        self._geometry = Anticipating(RunningRidge(self.dimension, ridge))
        self._theta = np.zeros(self.dimension)
        self._is_stale = False
        self._first: list[tuple[float, float]] = []  # rewards and squared norms of their features

    @property
    def dimension(self) -> int:
        """Number of features, of all actions together."""
        return self._features.dimension * max(self._actions, 1)

    @property
    def rewards(self) -> int:
        """Number of rewards so far."""
        return self._rewarded.number

    @property
    def _rewarded(self) -> RunningRidge:
        return self._geometry.rewarded

    @property
    def coefficients(self) -> Floats:
        """Estimate theta (m,) from all rewards."""
        if self._is_stale:
            self._theta = self._estimator.coefficients(self._rewarded)
            self._is_stale = False
        return self._theta

    @one_at_a_time
    def mean(self, options: ArrayLike) -> Floats:
        """Predicted reward (k,) of options, as `decide` takes them."""
        return self._rows(options) @ self.coefficients

    @one_at_a_time
    def probabilities(self, options: ArrayLike) -> Floats:
        """Probability (k,) with which each option would be chosen now; draws are of their own."""
        return self._floored(self._shares(self._rows(options), np.random.default_rng(0)))

    @one_at_a_time
    def decide(self, options: ArrayLike) -> Decision:
        """Choose one of the options.

        Args:
            options: Features (k, d) of the options that there are now; with `actions`, the
                context (d,).

        Returns:
            The decision. Until its reward is told it lowers the variance of what is like it, so
            that decisions of one batch differ.

        Raises:
            InvalidInput: If the options are not a finite matrix of d columns.
        """
        rows = self._rows(options)
        probabilities = self._floored(self._shares(rows, self._random))
        action = int(
            probabilities.argmax()
            if float(probabilities.max()) == 1.0
            else self._random.choice(len(rows), p=probabilities)
        )
        self._geometry.expect(rows[action])
        return Decision(action, float(probabilities[action]), rows[action], self._name)

    @one_at_a_time
    def tell(self, decision: Decision, reward: float) -> None:
        """Record the reward of a decision, whenever and in whichever order it comes.

        Args:
            decision: The decision.
            reward: Its reward, a finite number.

        Raises:
            InvalidInput: With nothing changed, if the reward is not a finite number, or the
                decision is another bandit's or was told or forgotten before.
        """
        value = checks.reward(reward)
        self._close(decision)
        self._geometry.fulfil(decision.feature)
        self._record(decision.feature, value)

    def _record(self, feature: Floats, value: float) -> None:
        self._estimator.take(feature, value, self._rewarded)
        self._is_stale = True
        if len(self._first) < _CHECKED:
            self._first.append((value, float(feature @ feature)))
            if len(self._first) == _CHECKED:
                self._check_unit()

    def _check_unit(self) -> None:
        """Warn where the first rewards vary by far less than the noise, or more than all of it."""
        rewards, norms = np.array(self._first).T
        spread = float(np.median(np.abs(rewards - np.median(rewards)))) or float(rewards.std())
        noise = math.sqrt(self._rewarded.ridge)
        most = math.hypot(noise, math.sqrt(float(norms.mean())))  # coefficients deviate by 1
        if not spread > 0.0 or noise / _OTHER_UNIT < spread < most * _OTHER_UNIT:
            return
        much, what = ("little", "coefficients") if spread > most else ("much", "noise")
        warn(
            f"the first {_CHECKED} rewards deviate by about {spread:.2g}, where `ridge` and the "
            f"features have them deviate by {noise:.2g} to {most:.2g}: the bandit explores too "
            f"{much}. Pass rewards in a unit in which their {what} deviate by about 1"
            f"{', or a smaller `ridge`.' if much == 'much' else '.'}",
        )

    @one_at_a_time
    def learn(self, option: ArrayLike, reward: float) -> None:
        """Record a reward of an option (d,) that was not chosen here, such as a logged one.

        Raises:
            InvalidInput: With nothing changed, if it is not one finite row, or the reward not
                finite.
        """
        if self._actions:
            raise InvalidInput("`learn` is for options by their features, without `actions`.")
        given = _numbers("option", option)
        if given.ndim != 1:
            raise InvalidInput(
                f"`option` has the shape {given.shape}, expected one row (d,): call `learn` for "
                "each."
            )
        row, value = self._rows(given[None])[0], checks.reward(reward)
        self._geometry.learn(row)
        self._record(row, value)

    @one_at_a_time
    def forget(self, decision: Decision) -> None:
        """Give up a decision whose reward will not come.

        Raises:
            InvalidInput: With nothing changed, if the decision is another bandit's or was told or
                forgotten before.
        """
        self._close(decision)
        self._geometry.withdraw(decision.feature)

    def _close(self, decision: Decision) -> None:
        """Note that a decision's reward is not to come any more; refuse one that is not open."""
        if not isinstance(decision, Decision):
            raise InvalidInput(
                f"`decision` is {checks.shown(decision)}, expected one that `decide` returned."
            )
        if decision.bandit != self._name:
            raise InvalidInput(
                "`decision` is another bandit's, expected one of this bandit: rewards of what "
                "others decided are for `learn`."
            )
        if not decision.is_open:
            raise InvalidInput(
                "`decision` was told or forgotten before, which counts once: pass each decision "
                "once, and further rewards of its option to `learn`."
            )
        decision.is_open = False

    def _rows(self, options: ArrayLike) -> Floats:
        """Features (k, m) of options, or of all actions in a context."""
        found = _numbers("options", options)
        if self._actions and found.ndim == 1:
            found = found[None]
        if found.ndim != 2 or not len(found) or (self._actions and len(found) != 1):
            wanted = "a context (d,)" if self._actions else "a matrix (k, d), a row for each"
            raise InvalidInput(f"`options` has the shape {found.shape}, expected {wanted}.")
        if not np.isfinite(found).all():
            raise InvalidInput("`options` has values that are not finite, expected numbers.")
        try:
            rows = self._features(found)
        except RuntimeError as error:  # of torch, for a wrong number of columns
            raise InvalidInput(
                f"`options` has {found.shape[1]} columns, which the features do not take: {error}."
            ) from error
        if rows.shape[1] != self._features.dimension:
            raise InvalidInput(
                f"`options` has {rows.shape[1]} columns, expected {self._features.dimension}."
            )
        return np.asarray(np.kron(np.eye(self._actions), rows)) if self._actions else rows

    def _shares(self, rows: Floats, random: np.random.Generator) -> Floats:
        """Share (k,) of the policy's draws that each option is best in."""
        mean, shares = rows @ self.coefficients, np.zeros(len(rows))
        width = self._width(
            Progress(
                round=self._rewarded.number,
                information_gain=self._rewarded.information_gain,
                dimension=self.dimension,
                ridge=self._rewarded.ridge,
                threshold=self._estimator.threshold,
            )
        )
        if self._policy == "ucb":
            shares[int((mean + width * self._geometry.every.deviation(rows)).argmax())] = 1.0
            return shares
        return self._drawn(rows, mean, width, random)

    @with_own_settings
    def _drawn(
        self, rows: Floats, mean: Floats, width: float, random: np.random.Generator
    ) -> Floats:
        """Share (k,) of draws from the posterior that each option is best in."""
        covariance = self._geometry.every.covariance(rows)
        covariance.flat[:: len(rows) + 1] += LAST_DIGITS * float(covariance.diagonal().max()) + TINY
        root = np.linalg.cholesky(covariance)
        drawn = mean + width * (random.standard_normal((self._draws, len(rows))) @ root.T)
        return np.bincount(drawn.argmax(1), minlength=len(rows)) / self._draws

    def _floored(self, shares: Floats) -> Floats:
        """Probabilities (k,) of decisions that are partly at random."""
        return np.asarray((1.0 - self._floor) * shares + self._floor / len(shares))


def _numbers(name: str, values: ArrayLike) -> Floats:
    """Numbers as an array."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"`{name}` is {checks.shown(values)}, expected numbers in rows of one length: {error}."
        ) from None


def contextual(
    features: int | Embedding,
    actions: int | None = None,
    *,
    estimator: Any = LeastSquares(),
    width: Width | None = None,
    policy: Literal["ucb", "thompson"] = "ucb",
    ridge: float = 1.0,
    draws: int = 256,
    floor: float = 0.0,
    seed: int = 0,
) -> Contextual:
    r"""A bandit that decides among options by their features, at O(m^2) a decision.

    Rewards are linear in the m features, :math:`\phi^\top\theta`, with a prior :math:`\theta \sim
    N(0, I)` and noise of variance `ridge`: LinUCB and linear Thompson sampling, and with Fourier
    features their kernel versions. There is no table of arms: the options of each decision are new
    ones, or with `actions` always the same, each with coefficients of its own in a context.
    Rewards may come late and in any order.

    Args:
        features: Number d of features of an option, or a map of them, such as
            `sf.RandomFourier(64).embedding(kernel, box)`.
        actions: Number of actions that are the same in each decision, which then gets a context
            (d,) only; None where decisions come with options of their own.
        estimator: `LeastSquares()`, `Truncation(moment)` (TGP), `AdaptiveTruncation(moment,
            horizon)` (ATA), or `Huber()`, in the form that takes in each reward once.
        width: Multiplier of the standard deviation: `widths.srinivas()` by default for "ucb", and 1
            for "thompson".
        policy: The largest upper confidence bound, or Thompson sampling: the option that is best in
            one of `draws` draws of theta, whose share among them is the propensity.
        ridge: Regularisation, the noise variance in squared reward units.
        draws: Number of draws for the propensities of a decision.
        floor: Probability of a decision at random, which bounds propensities from below. An
            estimate of another policy from the decisions needs one above 0: what is best in none of
            the draws could not be chosen.
        seed: Seed of all random choices.

    Returns:
        The bandit.

    Raises:
        InvalidInput: If an argument is out of range, or the estimator has no one-pass form.

    References:
        Li et al. 2010, "A contextual-bandit approach to personalized news article recommendation"
        (LinUCB); Agrawal and Goyal 2013, "Thompson sampling for contextual bandits with linear
        payoffs"; Chowdhury and Gopalan 2019 (heavy-tailed payoffs) for the truncations.

    Example:
        >>> import surefoot as sf
        >>> bandit = sf.bandits.contextual(2, ridge=0.1)
        >>> for value in [0.1, 0.9, 0.5] * 10:
        ...     decision = bandit.decide([[1.0, value], [1.0, 1.0 - value]])
        ...     bandit.tell(decision, float(decision.feature[1]))
        >>> bandit.decide([[1.0, 0.2], [1.0, 0.8]]).action
        1
    """
    if isinstance(features, int | np.integer) and not isinstance(features, bool):
        rows: _Rows | _Mapped = _Rows(checks.count("features", int(features)))
    elif callable(features) and hasattr(features, "dimension"):
        rows = _Mapped(features)
    else:
        raise InvalidInput(
            f"`features` is {checks.shown(features)}, expected the number of features or an "
            "embedding such as `sf.RandomFourier(64).embedding(kernel, box)`."
        )
    number = 0 if actions is None else checks.count("actions", actions, least=2)
    checks.choice("policy", policy, "ucb", "thompson")
    floor = checks.non_negative("floor", floor)
    if floor > 1.0:
        raise InvalidInput(f"`floor` is {floor!r}, expected a probability.")
    usual: Width = srinivas() if policy == "ucb" else constant(1.0)
    return Contextual(
        rows,
        number,
        one_pass(estimator, rows.dimension * max(number, 1)),
        usual if width is None else width,
        policy,
        checks.positive("ridge", ridge),
        checks.count("draws", draws),
        floor,
        checks.count("seed", seed, least=0),
    )

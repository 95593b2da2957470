"""Widths of the confidence bounds, in standard deviations: one class for each theorem.

A width is the multiplier beta in mean +- beta * deviation. `scale` multiplies all of it; at 1 it is
that of the theorem.

Where `norm_bound`, a bound on ||f||, may be None it is found by doubling: it starts at the size of
the rewards, v^(1/(1+a)) or the noise, and doubles after 4, 16, 256, 65536, ... rewards. The bounds
of the theorem then hold, with its probability 1 - delta, simultaneously in all rounds after it has
reached ||f||: after at most 2^(2 ||f|| / start) rewards, and from the first if ||f|| is at most the
start. There is no guarantee before. Where `horizon` may be None it starts at 1024
and doubles whenever it is reached, each epoch with its share of delta; the bounds then hold in all
rounds, without end, with probability 1 - delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from surefoot._internal import checks, doubling
from surefoot.tails import Moment, check_moment
from surefoot.types import InvalidInput

__all__ = [
    "Progress",
    "Width",
    "adaptive_as_published",
    "adaptive_fourier",
    "adaptive_nystrom",
    "bkb",
    "bkb_as_published",
    "chowdhury_gopalan",
    "constant",
    "srinivas",
    "truncated",
    "truncated_as_published",
    "tuning_free",
]


@dataclass(frozen=True)
class Progress:
    """Quantities that a width may depend on, after a number of rewards.

    Args:
        round: Number of rewards so far, t.
        information_gain: Half the log determinant of I + K_t / ridge, in nats.
        dimension: Dimension m of the features.
        ridge: Regularisation lambda, in squared (standardised) reward units.
        effective_dimension: Function without arguments that returns the sum of
            sigma^2(x_s) / ridge over all pulls s, with the present variance.
        prior_variance: Largest prior variance k(x, x).
        threshold: Threshold of the estimator (see `Info`), in (standardised) reward units; infinite
            for least squares.

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> srinivas(delta=0.1)(progress)
        4.90...
    """

    round: int
    information_gain: float
    dimension: int
    ridge: float
    effective_dimension: Callable[[], float] = lambda: 0.0
    prior_variance: float = 1.0
    threshold: float = math.inf


class Width(Protocol):
    """A width of the confidence bounds; any callable with this signature can be passed as one."""

    def __call__(self, progress: Progress) -> float:
        """Width of the bounds of the next round, `progress.round + 1`.

        Args:
            progress: State of the run after `progress.round` rewards.

        Returns:
            Number of standard deviations, at least 0.
        """
        ...


@dataclass(frozen=True)
class constant:  # noqa: N801
    """The same width in every round.

    Args:
        width: Number of standard deviations, at least 0.

    Raises:
        InvalidInput: For an argument out of range.

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> constant(2.0)(progress)
        2.0
    """

    width: float

    def __post_init__(self) -> None:
        checks.non_negative("width", self.width)

    def __call__(self, progress: Progress) -> float:
        return float(self.width)


@dataclass(frozen=True)
class srinivas:  # noqa: N801
    """Width sqrt(2 ln(t^2 pi^2 / (6 delta))), t the next round.

    The theorem bounds the rounds in which a point is chosen, with the posterior given all rewards
    before it. Rewards of an initial design, or of an earlier run, only condition the posterior of
    the first of these rounds and need not count: with `initial=n`, t is 1 after n rewards. By
    default every reward counts, which gives a larger width.

    Args:
        delta: Probability that the bounds fail in some round, in (0, 1).
        scale: Factor on the whole width; 1 is that of the theorem.
        initial: Number of rewards to leave out of t: those before the first chosen point.

    Raises:
        InvalidInput: For an argument out of range.

    References:
        Srinivas et al. 2010, Theorem 1, for a set of one point; Nguyen et al. 2021 (V-UCB) use it
        in their experiments, with delta = 0.1.

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> srinivas(delta=0.1)(progress)
        4.905...
        >>> srinivas(delta=0.1, initial=100)(progress)
        2.366...
    """

    delta: float = 0.1
    scale: float = 1.0
    initial: int = 0

    def __post_init__(self) -> None:
        checks.probability("delta", self.delta)
        checks.non_negative("scale", self.scale)
        checks.count("initial", self.initial, least=0)

    def __call__(self, progress: Progress) -> float:
        t = max(progress.round - self.initial, 0) + 1
        return self.scale * math.sqrt(2.0 * math.log(t**2 * math.pi**2 / (6.0 * self.delta)))


@dataclass(frozen=True)
class chowdhury_gopalan:  # noqa: N801
    r"""Width for R-sub-Gaussian noise and ||f|| <= B.

    .. math:: B + \frac{R}{\sqrt\lambda} \sqrt{2 (\gamma_t + 1 + \ln(1 / \delta))}

    gamma_t is the information gain of the observed points, half the log determinant of
    I + K_t / lambda; the theorem states its maximum over sets of points in its place, and
    lambda = 1 + 2 / T.

    Args:
        norm_bound: Bound B on the RKHS norm ||f||, in reward units; None doubles it from `noise`.
        noise: Sub-Gaussian constant R of the noise, in reward units.
        delta: Probability that the bounds fail in some round, in (0, 1).
        scale: Factor on the whole width; 1 is that of the theorem.

    Raises:
        InvalidInput: For an argument out of range.

    References:
        Chowdhury and Gopalan 2017, "On kernelized multi-armed bandits", Theorem 2.

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> chowdhury_gopalan(norm_bound=1.0, noise=0.1)(progress)
        1.562...
    """

    norm_bound: float | None
    noise: float
    delta: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check_noise(self.norm_bound, self.noise)
        checks.probability("delta", self.delta)
        checks.non_negative("scale", self.scale)

    def __call__(self, progress: Progress) -> float:
        norm = doubling.norm_bound(self.norm_bound, self.noise, progress.round)
        exponent = progress.information_gain + 1.0 + math.log(1.0 / self.delta)
        return self.scale * (norm + self.noise * math.sqrt(2.0 * exponent / progress.ridge))


@dataclass(frozen=True)
class bkb:  # noqa: N801
    r"""Width of BKB for xi-sub-Gaussian noise and ||f|| <= F.

    :math:`2 \xi \lambda^{-1/2} \sqrt{a \ln(\kappa^2 t) D + \ln(1 / \delta)}
    + (1 + 1 / \sqrt{1 - \epsilon}) F`, with :math:`\epsilon` the accuracy of the dictionary,
    :math:`a = (1 + \epsilon) / (1 - \epsilon)`, :math:`\kappa^2` the prior variance and D the
    effective dimension. It is that of the theorem divided by :math:`\sqrt{\lambda}`, since the
    deviation of the paper is :math:`\sigma / \sqrt{\lambda}`. The theorem requires an oversampling
    of at least :math:`6 a \ln(4 T / \delta) / \epsilon^2`. The logarithm is
    clipped at 0. The last step of the proof requires
    :math:`\kappa^2 t \geq 1 + e / \min(\lambda, 1)`: for smaller t the theorem does not cover the
    width.

    Args:
        norm_bound: Bound F on the RKHS norm ||f||, in reward units; None doubles it from `noise`.
        noise: Sub-Gaussian constant xi of the noise, in reward units.
        delta: Probability that the bounds fail in some round, in (0, 1).
        accuracy: Accuracy epsilon of the dictionary, in (0, 1).
        scale: Factor on the whole width; 1 is that of the theorem.

    Raises:
        InvalidInput: For an argument out of range.

    References:
        Calandriello et al. 2019 (BKB), Theorem 2.

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> bkb(norm_bound=1.0, noise=0.1)(progress)
        2.717...
    """

    norm_bound: float | None
    noise: float
    delta: float = 0.1
    accuracy: float = 0.5
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check_noise(self.norm_bound, self.noise)
        checks.probability("delta", self.delta)
        checks.probability("accuracy", self.accuracy)
        checks.non_negative("scale", self.scale)

    def __call__(self, progress: Progress) -> float:
        norm = doubling.norm_bound(self.norm_bound, self.noise, progress.round)
        inflation = (1.0 + self.accuracy) / (1.0 - self.accuracy)
        logarithm = math.log(max(progress.prior_variance * progress.round, 1.0))
        exponent = inflation * logarithm * progress.effective_dimension() + math.log(1 / self.delta)
        deviation = 2.0 * self.noise * math.sqrt(exponent / progress.ridge)
        return self.scale * (deviation + _projected(norm, self.accuracy))


@dataclass(frozen=True)
class bkb_as_published:  # noqa: N801
    """Width F + xi sqrt((D ln t + ln(1 / delta)) / ridge) of the published code of BKB.

    It is Theorem 2 without its constants, a quarter to a third of that width, and has no guarantee.
    D is the effective dimension.

    Args:
        norm_bound: Bound F on the RKHS norm ||f||, in reward units; None doubles it from `noise`.
        noise: Sub-Gaussian constant xi of the noise, in reward units.
        delta: Failure probability in the formula, in (0, 1).
        scale: Factor on the whole width; 1 is that of the published code.

    Raises:
        InvalidInput: For an argument out of range.

    References:
        Code of Calandriello et al. 2019, github.com/luigicarratino/batch-bkb.

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> bkb_as_published(norm_bound=1.0, noise=0.1)(progress)
        1.151...
    """

    norm_bound: float | None
    noise: float
    delta: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check_noise(self.norm_bound, self.noise)
        checks.probability("delta", self.delta)
        checks.non_negative("scale", self.scale)

    def __call__(self, progress: Progress) -> float:
        norm = doubling.norm_bound(self.norm_bound, self.noise, progress.round)
        exponent = progress.effective_dimension() * math.log(max(progress.round, 1))
        deviation = math.sqrt((exponent + math.log(1.0 / self.delta)) / progress.ridge)
        return self.scale * (norm + self.noise * deviation)


@dataclass(frozen=True)
class truncated:  # noqa: N801
    """Width of TGP-UCB, for rewards with a bounded moment of order 1 + a.

    B + (3 / sqrt(ridge)) b_t sqrt(ln det(I + K_t / ridge) + 2 ln(1 / delta)), with the threshold
    b_t of `Truncation`.

    Args:
        moment: Bound v on the raw moment of order 1 + a of the rewards.
        norm_bound: Bound B on the RKHS norm ||f||, in reward units; None doubles it from
            v^(1/(1+a)).
        delta: Probability that the bounds fail in some round, in (0, 1).
        scale: Factor on the whole width; 1 is that of the theorem.

    Raises:
        InvalidInput: For an argument out of range.

    References:
        Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Theorem 1.

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> truncated(Moment(alpha=1.0, bound=2.0), norm_bound=1.0)(progress)
        73.99...
    """

    moment: Moment
    norm_bound: float | None = None
    delta: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_moment(self.moment)
        _check(self.norm_bound, None, self.delta, self.scale)

    def __call__(self, progress: Progress) -> float:
        norm = _norm(self.norm_bound, self.moment, progress)
        spread = 2.0 * progress.information_gain + 2.0 * math.log(1.0 / self.delta)
        bound = _pull_threshold(self.moment, progress.round)
        return self.scale * (norm + 3.0 / math.sqrt(progress.ridge) * bound * math.sqrt(spread))


@dataclass(frozen=True)
class truncated_as_published:  # noqa: N801
    """Width B sqrt(ridge) + b_t sqrt(ln t) of the published experiments with truncated rewards.

    It has no guarantee. b_t is the threshold of `Truncation`.

    Args:
        moment: Bound v on the raw moment of order 1 + a of the rewards.
        norm_bound: Bound B on the RKHS norm ||f||, in reward units; None doubles it from
            v^(1/(1+a)).
        scale: Factor on the whole width; 1 is that of the published experiments.

    Raises:
        InvalidInput: For an argument out of range.

    References:
        Code of Chowdhury and Gopalan 2019 (heavy-tailed payoffs).

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> truncated_as_published(Moment(alpha=1.0, bound=2.0), norm_bound=1.0)(progress)
        10.59...
    """

    moment: Moment
    norm_bound: float | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_moment(self.moment)
        _check(self.norm_bound, None, 0.5, self.scale)

    def __call__(self, progress: Progress) -> float:
        norm = _norm(self.norm_bound, self.moment, progress)
        t = max(progress.round, 1)
        bound = _pull_threshold(self.moment, t)
        return self.scale * (norm * math.sqrt(progress.ridge) + bound * math.sqrt(math.log(t)))


@dataclass(frozen=True)
class adaptive_fourier:  # noqa: N801
    """Width of adaptive truncation in quadrature Fourier features.

    B + 4 sqrt(m / ridge) v^(1/(1+a)) L^(a/(1+a)) t^((1-a)/(2(1+a))), L = ln(2 m T / delta).

    Lemma 1 has the term O(B e^(1/2) t^2) in addition, with e < 1 the largest error of the
    approximate kernel. It is not included here: the bounds are proved for exact quadrature only.

    Args:
        moment: Bound v on the raw moment of order 1 + a of the rewards.
        norm_bound: Bound B on the RKHS norm ||f||, in reward units; None doubles it from
            v^(1/(1+a)).
        horizon: Number of rounds T; None doubles it from 1024, and must then be None in
            `AdaptiveTruncation` too, with the same `delta`.
        delta: Probability that the bounds fail in some round, in (0, 1).
        scale: Factor on the whole width; 1 is that of the theorem.

    Raises:
        InvalidInput: For an argument out of range.

    References:
        Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Lemma 1.

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> adaptive_fourier(Moment(alpha=1.0, bound=2.0), norm_bound=1.0, horizon=1000)(progress)
        91.85...
    """

    moment: Moment
    norm_bound: float | None = None
    horizon: int | None = None
    delta: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_moment(self.moment)
        _check(self.norm_bound, self.horizon, self.delta, self.scale)

    def __call__(self, progress: Progress) -> float:
        horizon, delta = doubling.horizon(self.horizon, self.delta, progress.round)
        deviation = _adaptive_deviation(self.moment, 2.0 * horizon / delta, progress)
        norm = _norm(self.norm_bound, self.moment, progress)
        return self.scale * (norm + 4.0 * deviation)


@dataclass(frozen=True)
class adaptive_nystrom:  # noqa: N801
    """Width of adaptive truncation in Nyström features.

    That of `adaptive_fourier` with B (1 + 1 / sqrt(1 - accuracy)) and L = ln(4 m T / delta). The
    theorem requires the oversampling q = 6 rho ln(4 T / delta) / accuracy^2 of the dictionary,
    rho = (1 + accuracy) / (1 - accuracy), with the same T and delta; it does not cover the default
    of `ata_gp_ucb`, which is 4.

    Args:
        moment: Bound v on the raw moment of order 1 + a of the rewards.
        norm_bound: Bound B on the RKHS norm ||f||, in reward units; None doubles it from
            v^(1/(1+a)).
        horizon: Number of rounds T; None doubles it from 1024, and must then be None in
            `AdaptiveTruncation` too, with the same `delta`.
        delta: Probability that the bounds fail in some round, in (0, 1).
        accuracy: Accuracy epsilon of the dictionary, in (0, 1).
        scale: Factor on the whole width; 1 is that of the theorem.

    Raises:
        InvalidInput: For an argument out of range.

    References:
        Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Theorem 4.

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> adaptive_nystrom(Moment(alpha=1.0, bound=2.0), norm_bound=1.0, horizon=1000)(progress)
        95.32...
    """

    moment: Moment
    norm_bound: float | None = None
    horizon: int | None = None
    delta: float = 0.1
    accuracy: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_moment(self.moment)
        _check(self.norm_bound, self.horizon, self.delta, self.scale)
        checks.probability("accuracy", self.accuracy)

    def __call__(self, progress: Progress) -> float:
        horizon, delta = doubling.horizon(self.horizon, self.delta, progress.round)
        deviation = _adaptive_deviation(self.moment, 4.0 * horizon / delta, progress)
        norm = _norm(self.norm_bound, self.moment, progress)
        return self.scale * (_projected(norm, self.accuracy) + 4.0 * deviation)


@dataclass(frozen=True)
class adaptive_as_published:  # noqa: N801
    """Width of the published experiments with adaptive truncation.

    B + sqrt(m / ridge) v^(1/(1+a)) L^(a/(1+a)) t^((1-a)/(2(1+a))), L = ln(m T): no factor 4, no
    delta and no guarantee.

    Args:
        moment: Bound v on the raw moment of order 1 + a of the rewards.
        norm_bound: Bound B on the RKHS norm ||f||, in reward units; None doubles it from
            v^(1/(1+a)).
        horizon: Number of rounds T; None doubles it from 1024.
        scale: Factor on the whole width; 1 is that of the published experiments.

    Raises:
        InvalidInput: For an argument out of range.

    References:
        Code of Chowdhury and Gopalan 2019 (heavy-tailed payoffs).

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> adaptive_as_published(Moment(1.0, 2.0), norm_bound=1.0, horizon=1000)(progress)
        20.90...
    """

    moment: Moment
    norm_bound: float | None = None
    horizon: int | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_moment(self.moment)
        _check(self.norm_bound, self.horizon, 0.5, self.scale)

    def __call__(self, progress: Progress) -> float:
        horizon, _ = doubling.horizon(self.horizon, 0.5, progress.round)
        deviation = _adaptive_deviation(self.moment, float(horizon), progress)
        return self.scale * (_norm(self.norm_bound, self.moment, progress) + deviation)


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
        _check(self.norm_bound, None, self.delta, self.scale)
        if checks.positive("tail", self.tail) < 1.0:
            raise InvalidInput(f"`tail` is {checks.shown(self.tail)}, expected at least 1.")

    def __call__(self, progress: Progress) -> float:
        logarithm = doubling.rounds_logarithm(self.delta, progress.round)
        known = 0.0 if math.isinf(progress.threshold) else progress.threshold  # before a reward
        norm = doubling.norm_bound(self.norm_bound, known * math.sqrt(logarithm), progress.round)
        deviation = known * logarithm / math.sqrt(progress.ridge)
        return self.scale * (norm + (4.1 + 3.8 * self.tail) * deviation)


def _norm(given: float | None, moment: Moment, progress: Progress) -> float:
    """B, or a doubled bound that starts from v^(1/(1+a)), which bounds |f|."""
    return doubling.norm_bound(given, moment.bound ** (1.0 / (1.0 + moment.alpha)), progress.round)


def _projected(norm: float, accuracy: float) -> float:
    """Norm term of a dictionary of that accuracy: the norm and the error of the projection."""
    return norm * (1.0 + 1.0 / math.sqrt(1.0 - accuracy))


def _pull_threshold(moment: Moment, t: int) -> float:
    """Threshold b_t = v^(1/(1+a)) t^(1/(2(1+a)))."""
    power = 1.0 / (1.0 + moment.alpha)
    return float(moment.bound**power * t ** (0.5 * power))


def _adaptive_deviation(moment: Moment, events: float, progress: Progress) -> float:
    """sqrt(m / ridge) v^(1/(1+a)) L^(a/(1+a)) t^((1-a)/(2(1+a))), L = ln(m * events)."""
    if progress.dimension == 0:  # before the first reward
        return 0.0
    alpha, power = moment.alpha, 1.0 / (1.0 + moment.alpha)
    logarithm = math.log(progress.dimension * events)
    growth = progress.round ** ((1.0 - alpha) * 0.5 * power)
    spread = math.sqrt(progress.dimension / progress.ridge)
    return float(spread * moment.bound**power * logarithm ** (alpha * power) * growth)


def _check(norm_bound: float | None, horizon: int | None, delta: float, scale: float) -> None:
    if norm_bound is not None:
        checks.positive("norm_bound", norm_bound)
    if horizon is not None:
        checks.count("horizon", horizon)
    checks.probability("delta", delta)
    checks.non_negative("scale", scale)


def _check_noise(norm_bound: float | None, noise: float) -> None:
    if norm_bound is not None:
        checks.positive("norm_bound", norm_bound)
    if checks.non_negative("noise", noise) == 0.0 and norm_bound is None:
        raise InvalidInput(
            "`noise` is 0, so `norm_bound` cannot start from it: pass a `norm_bound`."
        )

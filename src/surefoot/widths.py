"""How many standard deviations a bound is away from the mean: one value for each theorem.

Where a `norm_bound` of ||f|| may be None it is guessed: it starts at the size of the rewards,
v^(1/(1+a)) or the noise, and doubles after 4, 16, 256, 65536, ... rewards. The theorem's bounds
then hold, with its probability 1 - delta, in all rounds from which on the guess is at least ||f||,
which is after 2^(2 ||f|| / start) rewards at the latest, and from the first where ||f|| <= start;
before, nothing is promised (`doubling.norm_bound`). Where a `horizon` may be None it is guessed at
1024 and doubled whenever it is reached, each epoch with its share of delta, and the bounds hold in
all rounds, without end, with probability 1 - delta (`doubling.horizon`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from surefoot._internal import checks, doubling
from surefoot.tails import Moment
from surefoot.types import InvalidInput


@dataclass(frozen=True)
class Progress:
    """What widths may depend on, after `round` rewards.

    `effective_dimension` is the sum of sigma^2(x_s) / ridge over all pulls s, with the variance of
    today; `prior_variance` the largest k(x, x).
    """

    round: int
    information_gain: float
    dimension: int
    ridge: float
    effective_dimension: Callable[[], float] = lambda: 0.0
    prior_variance: float = 1.0


class Width(Protocol):
    """The multiplier beta for the bounds of round `progress.round + 1`."""

    def __call__(self, progress: Progress) -> float: ...


@dataclass(frozen=True)
class constant:  # noqa: N801
    """The same width in every round."""

    width: float

    def __post_init__(self) -> None:
        checks.non_negative("width", self.width)

    def __call__(self, progress: Progress) -> float:
        return float(self.width)


@dataclass(frozen=True)
class srinivas:  # noqa: N801
    """sqrt(2 ln(t^2 pi^2 / (6 delta))), t the round to come.

    Srinivas et al. 2010, Theorem 1 for a set of one point; V-UCB's experiments use delta = 0.1.
    """

    delta: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        checks.probability("delta", self.delta)
        checks.non_negative("scale", self.scale)

    def __call__(self, progress: Progress) -> float:
        t = progress.round + 1
        return self.scale * math.sqrt(2.0 * math.log(t**2 * math.pi**2 / (6.0 * self.delta)))


@dataclass(frozen=True)
class chowdhury_gopalan:  # noqa: N801
    """B + R sqrt(2 (gamma_t + 1 + ln(1 / delta))) for R-sub-Gaussian noise and ||f|| <= B.

    Chowdhury and Gopalan 2017, Theorem 2, with the information gain of the points played. B None
    is guessed from R.
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
        return self.scale * (norm + self.noise * math.sqrt(2.0 * exponent))


@dataclass(frozen=True)
class bkb:  # noqa: N801
    r"""2 xi / sqrt(ridge) sqrt(a ln(kappa^2 t) D + ln(1 / delta)) + (1 + 1 / sqrt(1 - e)) F.

    Calandriello et al. 2019 (BKB), Theorem 2, for xi-sub-Gaussian noise and ||f|| <= F, with e the
    `accuracy` of the dictionary, a = (1 + e) / (1 - e), kappa^2 the prior variance and D the
    effective dimension, the sum of the paper's variances of all pulls. Over sqrt(ridge), since
    the paper's deviation is sigma / sqrt(ridge). The theorem asks for an oversampling of at least
    6 a ln(4 T / delta) / e^2. A logarithm below 0 counts as 0; the last step of the proof takes
    kappa^2 t of at least 1 + e / min(ridge, 1), e = 2.718. F None is guessed from xi.
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
    """F + xi sqrt((D ln t + ln(1 / delta)) / ridge), in the authors' published code, no theorem's.

    Theorem 2 without its constants (github.com/luigicarratino/batch-bkb), three to four times as
    narrow; D is the effective dimension. F None is guessed from xi.
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
    """B + (3 / sqrt(ridge)) b_t sqrt(ln det(I + K_t / ridge) + 2 ln(1 / delta)).

    Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Theorem 1, b_t as in `Truncation`. B None is
    guessed from the moment.
    """

    moment: Moment
    norm_bound: float | None = None
    delta: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check(self.norm_bound, None, self.delta, self.scale)

    def __call__(self, progress: Progress) -> float:
        norm = _norm(self.norm_bound, self.moment, progress)
        spread = 2.0 * progress.information_gain + 2.0 * math.log(1.0 / self.delta)
        bound = _pull_threshold(self.moment, progress.round)
        return self.scale * (norm + 3.0 / math.sqrt(progress.ridge) * bound * math.sqrt(spread))


@dataclass(frozen=True)
class truncated_as_published:  # noqa: N801
    """B sqrt(ridge) + b_t sqrt(ln t): the width in the experiments of the paper, no theorem's."""

    moment: Moment
    norm_bound: float | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check(self.norm_bound, None, 0.5, self.scale)

    def __call__(self, progress: Progress) -> float:
        norm = _norm(self.norm_bound, self.moment, progress)
        t = max(progress.round, 1)
        bound = _pull_threshold(self.moment, t)
        return self.scale * (norm * math.sqrt(progress.ridge) + bound * math.sqrt(math.log(t)))


@dataclass(frozen=True)
class adaptive_fourier:  # noqa: N801
    """B + 4 sqrt(m / ridge) v^(1/(1+a)) L^(a/(1+a)) t^((1-a)/(2(1+a))), L = ln(2 m T / delta).

    Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Lemma 1, T the horizon. B None is guessed
    from the moment; T None is guessed too, and must then be None in `AdaptiveTruncation` as well,
    with the same `delta`.
    """

    moment: Moment
    norm_bound: float | None = None
    horizon: int | None = None
    delta: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check(self.norm_bound, self.horizon, self.delta, self.scale)

    def __call__(self, progress: Progress) -> float:
        horizon, delta = doubling.horizon(self.horizon, self.delta, progress.round)
        deviation = _adaptive_deviation(self.moment, 2.0 * horizon / delta, progress)
        norm = _norm(self.norm_bound, self.moment, progress)
        return self.scale * (norm + 4.0 * deviation)


@dataclass(frozen=True)
class adaptive_nystrom:  # noqa: N801
    """`adaptive_fourier` with B (1 + 1 / sqrt(1 - accuracy)) and L = ln(4 m T / delta).

    Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Theorem 4, `accuracy` its epsilon. Its
    q = 6 a ln(4 T / delta) / accuracy^2 must be that of the T and delta in use, guessed ones too.
    """

    moment: Moment
    norm_bound: float | None = None
    horizon: int | None = None
    delta: float = 0.1
    accuracy: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check(self.norm_bound, self.horizon, self.delta, self.scale)
        checks.probability("accuracy", self.accuracy)

    def __call__(self, progress: Progress) -> float:
        horizon, delta = doubling.horizon(self.horizon, self.delta, progress.round)
        deviation = _adaptive_deviation(self.moment, 4.0 * horizon / delta, progress)
        norm = _norm(self.norm_bound, self.moment, progress)
        return self.scale * (_projected(norm, self.accuracy) + 4.0 * deviation)


@dataclass(frozen=True)
class adaptive_as_published:  # noqa: N801
    """B + sqrt(m / ridge) v^(1/(1+a)) L^(a/(1+a)) t^((1-a)/(2(1+a))), L = ln(m T).

    The width in the experiments of the paper, no theorem's: no factor of 4 and no delta.
    """

    moment: Moment
    norm_bound: float | None = None
    horizon: int | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check(self.norm_bound, self.horizon, 0.5, self.scale)

    def __call__(self, progress: Progress) -> float:
        horizon, _ = doubling.horizon(self.horizon, 0.5, progress.round)
        deviation = _adaptive_deviation(self.moment, float(horizon), progress)
        return self.scale * (_norm(self.norm_bound, self.moment, progress) + deviation)


def _norm(given: float | None, moment: Moment, progress: Progress) -> float:
    """B, or a guess from v^(1/(1+a)), which |f| nowhere exceeds."""
    return doubling.norm_bound(given, moment.bound ** (1.0 / (1.0 + moment.alpha)), progress.round)


def _projected(norm: float, accuracy: float) -> float:
    """The norm's term with what the projection on a dictionary adds to it."""
    return norm * (1.0 + 1.0 / math.sqrt(1.0 - accuracy))


def _pull_threshold(moment: Moment, t: int) -> float:
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
        raise InvalidInput("`noise` is 0, from which no `norm_bound` can be guessed: pass one.")

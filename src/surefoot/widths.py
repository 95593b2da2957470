"""How many standard deviations a bound is away from the mean: one value for each theorem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from surefoot import _checks
from surefoot.tails import Moment


@dataclass(frozen=True)
class Progress:
    """What widths may depend on, after `round` rewards."""

    round: int
    information_gain: float
    dimension: int
    ridge: float


class Width(Protocol):
    """The multiplier beta for the bounds of round `progress.round + 1`."""

    def __call__(self, progress: Progress) -> float: ...


@dataclass(frozen=True)
class constant:  # noqa: N801
    """The same width in every round."""

    width: float

    def __post_init__(self) -> None:
        _checks.non_negative("width", self.width)

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
        _checks.probability("delta", self.delta)
        _checks.non_negative("scale", self.scale)

    def __call__(self, progress: Progress) -> float:
        t = progress.round + 1
        return self.scale * math.sqrt(2.0 * math.log(t**2 * math.pi**2 / (6.0 * self.delta)))


@dataclass(frozen=True)
class chowdhury_gopalan:  # noqa: N801
    """B + R sqrt(2 (gamma_t + 1 + ln(1 / delta))) for R-sub-Gaussian noise and ||f|| <= B.

    Chowdhury and Gopalan 2017, Theorem 2, with the information gain of the points played.
    """

    norm_bound: float
    noise: float
    delta: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        _checks.positive("norm_bound", self.norm_bound)
        _checks.non_negative("noise", self.noise)
        _checks.probability("delta", self.delta)
        _checks.non_negative("scale", self.scale)

    def __call__(self, progress: Progress) -> float:
        exponent = progress.information_gain + 1.0 + math.log(1.0 / self.delta)
        return self.scale * (self.norm_bound + self.noise * math.sqrt(2.0 * exponent))


@dataclass(frozen=True)
class truncated:  # noqa: N801
    """B + (3 / sqrt(ridge)) b_t sqrt(ln det(I + K_t / ridge) + 2 ln(1 / delta)).

    Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Theorem 1, b_t as in `Truncation`.
    """

    moment: Moment
    norm_bound: float
    delta: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        _checks.positive("norm_bound", self.norm_bound)
        _checks.probability("delta", self.delta)
        _checks.non_negative("scale", self.scale)

    def __call__(self, progress: Progress) -> float:
        spread = 2.0 * progress.information_gain + 2.0 * math.log(1.0 / self.delta)
        bound = _pull_threshold(self.moment, progress.round)
        return self.scale * (
            self.norm_bound + 3.0 / math.sqrt(progress.ridge) * bound * math.sqrt(spread)
        )


@dataclass(frozen=True)
class truncated_as_published:  # noqa: N801
    """B sqrt(ridge) + b_t sqrt(ln t): the width in the experiments of the paper, no theorem's."""

    moment: Moment
    norm_bound: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        _checks.positive("norm_bound", self.norm_bound)
        _checks.non_negative("scale", self.scale)

    def __call__(self, progress: Progress) -> float:
        t = max(progress.round, 1)
        bound = _pull_threshold(self.moment, t)
        return self.scale * (
            self.norm_bound * math.sqrt(progress.ridge) + bound * math.sqrt(math.log(t))
        )


@dataclass(frozen=True)
class adaptive_fourier:  # noqa: N801
    """B + 4 sqrt(m / ridge) v^(1/(1+a)) L^(a/(1+a)) t^((1-a)/(2(1+a))), L = ln(2 m T / delta).

    Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Lemma 1, T the horizon.
    """

    moment: Moment
    norm_bound: float
    horizon: int
    delta: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check_adaptive(self.norm_bound, self.horizon, self.delta, self.scale)

    def __call__(self, progress: Progress) -> float:
        logarithm = math.log(2 * progress.dimension * self.horizon / self.delta)
        deviation = _adaptive_deviation(self.moment, logarithm, progress)
        return self.scale * (self.norm_bound + 4.0 * deviation)


@dataclass(frozen=True)
class adaptive_nystrom:  # noqa: N801
    """`adaptive_fourier` with B (1 + 1 / sqrt(1 - accuracy)) and L = ln(4 m T / delta).

    Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Theorem 4, `accuracy` its epsilon.
    """

    moment: Moment
    norm_bound: float
    horizon: int
    delta: float = 0.1
    accuracy: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check_adaptive(self.norm_bound, self.horizon, self.delta, self.scale)
        _checks.probability("accuracy", self.accuracy)

    def __call__(self, progress: Progress) -> float:
        logarithm = math.log(4 * progress.dimension * self.horizon / self.delta)
        deviation = _adaptive_deviation(self.moment, logarithm, progress)
        norm = self.norm_bound * (1.0 + 1.0 / math.sqrt(1.0 - self.accuracy))
        return self.scale * (norm + 4.0 * deviation)


@dataclass(frozen=True)
class adaptive_as_published:  # noqa: N801
    """B + sqrt(m / ridge) v^(1/(1+a)) L^(a/(1+a)) t^((1-a)/(2(1+a))), L = ln(m T).

    The width in the experiments of the paper, no theorem's: no factor of 4 and no delta.
    """

    moment: Moment
    norm_bound: float
    horizon: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check_adaptive(self.norm_bound, self.horizon, 0.5, self.scale)

    def __call__(self, progress: Progress) -> float:
        logarithm = math.log(progress.dimension * self.horizon)
        deviation = _adaptive_deviation(self.moment, logarithm, progress)
        return self.scale * (self.norm_bound + deviation)


def _pull_threshold(moment: Moment, t: int) -> float:
    power = 1.0 / (1.0 + moment.alpha)
    return float(moment.bound**power * t ** (0.5 * power))


def _adaptive_deviation(moment: Moment, logarithm: float, progress: Progress) -> float:
    alpha, power = moment.alpha, 1.0 / (1.0 + moment.alpha)
    growth = progress.round ** ((1.0 - alpha) * 0.5 * power)
    spread = math.sqrt(progress.dimension / progress.ridge)
    return float(spread * moment.bound**power * logarithm ** (alpha * power) * growth)


def _check_adaptive(norm_bound: float, horizon: int, delta: float, scale: float) -> None:
    _checks.positive("norm_bound", norm_bound)
    _checks.count("horizon", horizon)
    _checks.probability("delta", delta)
    _checks.non_negative("scale", scale)

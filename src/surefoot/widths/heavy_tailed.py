"""Widths for rewards of which only a moment of order 1 + a is bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from surefoot._internal import checks, doubling
from surefoot.tails.moment import Moment
from surefoot.widths.assumptions import BoundedMoment
from surefoot.widths.gaussian import projected
from surefoot.widths.progress import Progress


@dataclass(frozen=True)
class truncated(BoundedMoment):  # noqa: N801
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

    unproved: ClassVar[str] = "Theorem 1 holds in each round by itself"

    def of_theorem(self, progress: Progress) -> float:
        spread = 2.0 * progress.information_gain + 2.0 * math.log(1.0 / self.delta)
        bound = _pull_threshold(self.moment, progress.round)
        return self.norm(progress) + 3.0 / math.sqrt(progress.ridge) * bound * math.sqrt(spread)


@dataclass(frozen=True)
class adaptive_fourier(BoundedMoment):  # noqa: N801
    """Width of adaptive truncation in quadrature Fourier features.

    The proof of Lemma 1 is for arms that do not depend on the rewards (notes/guarantees.md).

    B + 4 sqrt(m / ridge) v^(1/(1+a)) L^(a/(1+a)) t^((1-a)/(2(1+a))), L = ln(2 m T / delta).

    Lemma 1 has the term O(B e^(1/2) t^2) in addition, with e < 1 the largest error of the
    approximate kernel. It is not included here: the bounds are proved for exact quadrature only.

    Args:
        moment: Bound v on the raw moment of order 1 + a of the rewards.
        norm_bound: Bound B on the RKHS norm ||f||, in reward units; None doubles it from
            v^(1/(1+a)).
        delta: Probability that the bounds fail in some round, in (0, 1).
        scale: Factor on the whole width; 1 is that of the theorem.
        horizon: Number of rounds T; None doubles it from 1024, and must then be None in
            `AdaptiveTruncation` too, with the same `delta`.

    Raises:
        InvalidInput: For an argument out of range.

    References:
        Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Lemma 1.

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> adaptive_fourier(Moment(alpha=1.0, bound=2.0), norm_bound=1.0, horizon=1000)(progress)
        91.85...
    """

    unproved: ClassVar[str] = "the proof is for arms that do not depend on the rewards"
    horizon: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_horizon(self.horizon)

    def of_theorem(self, progress: Progress) -> float:
        horizon, delta = doubling.horizon(self.horizon, self.delta, progress.round)
        deviation = _adaptive_deviation(self.moment, 2.0 * horizon / delta, progress)
        return self.norm(progress) + 4.0 * deviation


@dataclass(frozen=True)
class adaptive_nystrom(BoundedMoment):  # noqa: N801
    """Width of adaptive truncation in Nyström features.

    The proof of Theorem 4 is for arms that do not depend on the rewards (notes/guarantees.md).

    That of `adaptive_fourier` with B (1 + 1 / sqrt(1 - accuracy)) and L = ln(4 m T / delta). The
    theorem requires the oversampling q = 6 rho ln(4 T / delta) / accuracy^2 of the dictionary,
    rho = (1 + accuracy) / (1 - accuracy), with the same T and delta; it does not cover the default
    of `ata_gp_ucb`, which is 4.

    Args:
        moment: Bound v on the raw moment of order 1 + a of the rewards.
        norm_bound: Bound B on the RKHS norm ||f||, in reward units; None doubles it from
            v^(1/(1+a)).
        delta: Probability that the bounds fail in some round, in (0, 1).
        scale: Factor on the whole width; 1 is that of the theorem.
        horizon: Number of rounds T; None doubles it from 1024, and must then be None in
            `AdaptiveTruncation` too, with the same `delta`.
        accuracy: Accuracy epsilon of the dictionary, in (0, 1).

    Raises:
        InvalidInput: For an argument out of range.

    References:
        Chowdhury and Gopalan 2019 (heavy-tailed payoffs), Theorem 4.

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> adaptive_nystrom(Moment(alpha=1.0, bound=2.0), norm_bound=1.0, horizon=1000)(progress)
        95.32...
    """

    unproved: ClassVar[str] = "the proof is for arms that do not depend on the rewards"
    horizon: int | None = None
    accuracy: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_horizon(self.horizon)
        checks.probability("accuracy", self.accuracy)

    def of_theorem(self, progress: Progress) -> float:
        horizon, delta = doubling.horizon(self.horizon, self.delta, progress.round)
        deviation = _adaptive_deviation(self.moment, 4.0 * horizon / delta, progress)
        return projected(self.norm(progress), self.accuracy) + 4.0 * deviation


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


def check_horizon(horizon: int | None) -> None:
    """Refuse a horizon that is no count."""
    if horizon is not None:
        checks.count("horizon", horizon)

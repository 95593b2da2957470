"""Widths and oversampling of the authors' published code, none of which a theorem covers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from surefoot import Moment, Truncation
from surefoot.types import InvalidInput
from surefoot.widths import Progress
from surefoot_experiments.baselines.arguments import count, positive


@dataclass(frozen=True)
class Truncated:
    """Width B sqrt(ridge) + b_t sqrt(ln t) of the experiments with truncated rewards.

    b_t is the threshold of `surefoot.Truncation`.

    Args:
        moment: Bound v on the raw moment of order 1 + a of the rewards.
        norm_bound: Bound B on the RKHS norm ||f||, in reward units.

    Raises:
        InvalidInput: If an argument is out of range.

    References:
        Code of Chowdhury and Gopalan 2019 (heavy-tailed payoffs).

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> Truncated(Moment(alpha=1.0, bound=2.0), norm_bound=1.0)(progress)
        10.59...
    """

    moment: Moment
    norm_bound: float

    def __post_init__(self) -> None:
        positive("norm_bound", self.norm_bound)

    def __call__(self, progress: Progress) -> float:
        t = max(progress.round, 1)
        spread = Truncation(self.moment).threshold(t) * math.sqrt(math.log(t))
        return self.norm_bound * math.sqrt(progress.ridge) + spread


@dataclass(frozen=True)
class Adaptive:
    """Width of the experiments with adaptive truncation.

    B + sqrt(m / ridge) v^(1/(1+a)) L^(a/(1+a)) t^((1-a)/(2(1+a))), L = ln(m T): Lemma 1 without the
    factor 4 and without delta.

    Args:
        moment: Bound v on the raw moment of order 1 + a of the rewards.
        norm_bound: Bound B on the RKHS norm ||f||, in reward units.
        horizon: Number of rounds T.

    Raises:
        InvalidInput: If an argument is out of range.

    References:
        Code of Chowdhury and Gopalan 2019 (heavy-tailed payoffs).

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> Adaptive(Moment(1.0, 2.0), norm_bound=1.0, horizon=1000)(progress)
        20.90...
    """

    moment: Moment
    norm_bound: float
    horizon: int

    def __post_init__(self) -> None:
        positive("norm_bound", self.norm_bound)
        count("horizon", self.horizon)

    def __call__(self, progress: Progress) -> float:
        if progress.dimension == 0:  # before the first reward
            return self.norm_bound
        alpha, power = self.moment.alpha, 1.0 / (1.0 + self.moment.alpha)
        logarithm = math.log(progress.dimension * self.horizon)
        growth = progress.round ** ((1.0 - alpha) * 0.5 * power)
        spread = math.sqrt(progress.dimension / progress.ridge) * self.moment.bound**power
        return float(self.norm_bound + spread * logarithm ** (alpha * power) * growth)


@dataclass(frozen=True)
class BKB:
    """Width F + xi sqrt((D ln t + ln(1 / delta)) / ridge) of the code of BKB.

    Theorem 2 without its constants, a quarter to a third of that width; D is the effective
    dimension.

    Args:
        norm_bound: Bound F on the RKHS norm ||f||, in reward units.
        noise: Sub-Gaussian constant xi of the noise, in reward units.
        delta: Failure probability in the formula, in (0, 1).

    Raises:
        InvalidInput: If an argument is out of range.

    References:
        Code of Calandriello et al. 2019, github.com/luigicarratino/batch-bkb.

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> BKB(norm_bound=1.0, noise=0.1)(progress)
        1.151...
    """

    norm_bound: float
    noise: float
    delta: float = 0.1

    def __post_init__(self) -> None:
        positive("norm_bound", self.norm_bound)
        positive("noise", self.noise)
        _probability("delta", self.delta)

    def __call__(self, progress: Progress) -> float:
        exponent = progress.effective_dimension() * math.log(max(progress.round, 1))
        deviation = math.sqrt((exponent + math.log(1.0 / self.delta)) / progress.ridge)
        return self.norm_bound + self.noise * deviation


def oversampling(horizon: int, accuracy: float = 0.1) -> float:
    r"""The q of the experiments with adaptive truncation, :math:`\ln(T) / \epsilon^2`.

    Theorem 3 without its constants: no ratio of accuracies, no delta and no factor 6.

    Args:
        horizon: Number of rounds T, at least 3.
        accuracy: Relative accuracy epsilon of the variance, in (0, 1).

    Returns:
        The oversampling factor.

    Raises:
        InvalidInput: If an argument is out of range.

    References:
        Code of Chowdhury and Gopalan 2019 (heavy-tailed payoffs).

    Example:
        >>> round(oversampling(horizon=12_000))
        939
    """
    count("horizon", horizon, least=3)
    _probability("accuracy", accuracy)
    return math.log(horizon) / accuracy**2


def _probability(name: str, value: float) -> None:
    if positive(name, value) >= 1.0:
        raise InvalidInput(f"`{name}` is {value!r}, expected a number strictly between 0 and 1.")

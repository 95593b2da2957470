"""How many standard deviations a bound is away from the mean: one value for each theorem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from surefoot import _checks


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

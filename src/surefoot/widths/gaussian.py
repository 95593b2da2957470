"""Widths for Gaussian and sub-Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from surefoot._internal import checks
from surefoot.widths.assumptions import SubGaussian
from surefoot.widths.progress import Progress


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
class chowdhury_gopalan(SubGaussian):  # noqa: N801
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

    exact: ClassVar[bool] = True

    def of_theorem(self, progress: Progress) -> float:
        exponent = progress.information_gain + 1.0 + math.log(1.0 / self.delta)
        noise = progress.weighted_noise(self.noise)
        return self.norm(progress) + noise * math.sqrt(2.0 * exponent / progress.ridge)


@dataclass(frozen=True)
class bkb(SubGaussian):  # noqa: N801
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
        scale: Factor on the whole width; 1 is that of the theorem.
        accuracy: Accuracy epsilon of the dictionary, in (0, 1).

    Raises:
        InvalidInput: For an argument out of range.

    References:
        Calandriello et al. 2019 (BKB), Theorem 2.

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> bkb(norm_bound=1.0, noise=0.1)(progress)
        2.717...
    """

    unproved: ClassVar[str] = "Theorem 2 needs the theory's oversampling, and all rounds of a batch"
    accuracy: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.probability("accuracy", self.accuracy)

    def of_theorem(self, progress: Progress) -> float:
        inflation = (1.0 + self.accuracy) / (1.0 - self.accuracy)
        logarithm = math.log(max(progress.prior_variance * progress.round, 1.0))
        exponent = inflation * logarithm * progress.effective_dimension() + math.log(1 / self.delta)
        deviation = 2.0 * progress.weighted_noise(self.noise) * math.sqrt(exponent / progress.ridge)
        return deviation + projected(self.norm(progress), self.accuracy)


def projected(norm: float, accuracy: float) -> float:
    """Norm term of a dictionary of that accuracy: the norm and the error of the projection."""
    return norm * (1.0 + 1.0 / math.sqrt(1.0 - accuracy))

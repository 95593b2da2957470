"""Protocol of widths, and the state that they depend on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from surefoot._internal import checks
from surefoot.types import InvalidInput


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
        unexplained: Function without arguments that returns tr(K_t - K~_t) / ridge, with K~_t the
            kernel matrix of the features; 0 where these represent the kernel.
        misfit: Function of a regularisation a that returns a y' (K~_t + a I)^{-1} y, the least of
            ||y - g||^2 + a ||g||^2. Rewards with standard errors are weighted in it.
        weighted_noise: Function of the sub-Gaussian constant of the noise that returns that of the
            rewards as they are weighted, standard errors included.

    Example:
        >>> import surefoot as sf
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> sf.widths.srinivas(delta=0.1)(progress)
        4.90...
    """

    round: int
    information_gain: float
    dimension: int
    ridge: float
    effective_dimension: Callable[[], float] = lambda: 0.0
    prior_variance: float = 1.0
    threshold: float = math.inf
    unexplained: Callable[[], float] = lambda: 0.0
    misfit: Callable[[float], float] = lambda ridge: 0.0
    weighted_noise: Callable[[float], float] = lambda noise: noise


def check_width(name: str, width: object) -> None:
    """`InvalidInput` for what is no width, such as a number or a class."""
    if not callable(width) or isinstance(width, type):
        example = f"constant({width!r})" if isinstance(width, int | float) else "srinivas()"
        raise InvalidInput(
            f"`{name}` is {checks.shown(width)}, expected a width: pass `widths.{example}`."
        )


class Width(Protocol):
    """A width of the confidence bounds; any callable with this signature can be passed as one."""

    def __call__(self, progress: Progress) -> float:
        """Width of the bounds of the next round, `progress.round + 1`.

        Args:
            progress: State of the run after `progress.round` rewards.

        Returns:
            Number of standard deviations, at least 0.
        """

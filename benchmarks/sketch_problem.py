"""Random functions on very many arms, and the width of the authors' published code."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import surefoot as sf
from surefoot.problems import KernelFunction, random_function

if TYPE_CHECKING:
    from surefoot.widths import Progress

NOISE = 0.1  # standard deviation of a reward
RIDGE = NOISE**2  # BKB's lambda = xi^2
DELTA = 0.1


def many_arms(seed: int, arms: int, dimension: int = 2, lengthscale: float = 0.2) -> KernelFunction:
    """A random function on uniform points, 100 of them its supports."""
    random = np.random.default_rng([seed, arms])
    kernel = sf.kernels.squared_exponential(lengthscale)
    return random_function(random, kernel, arms=arms, dimension=dimension)


@dataclass(frozen=True)
class Published:
    """F + xi sqrt((D ln t + ln(1 / delta)) / ridge), D the effective dimension; no theorem's.

    What the code that BKB's authors published (github.com/luigicarratino/batch-bkb) takes, in
    multiples of this library's deviation: Theorem 2 without its constants.
    """

    norm: float
    noise: float = NOISE
    delta: float = DELTA

    def __call__(self, progress: "Progress") -> float:
        spread = progress.effective_dimension() * math.log(max(progress.round, 1))
        return self.norm + self.noise * math.sqrt(
            (spread + math.log(1.0 / self.delta)) / progress.ridge
        )


def theorem(norm: float, scale: float = 1.0) -> "sf.widths.bkb":
    """The width of BKB's Theorem 2."""
    return sf.widths.bkb(norm, NOISE, DELTA, scale=scale)

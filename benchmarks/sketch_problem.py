"""Random functions on very many arms, and the width of the authors' published code."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

import surefoot as sf
from surefoot.problems import KernelFunction

if TYPE_CHECKING:
    from surefoot.widths import Progress

NOISE = 0.1  # standard deviation of a reward
RIDGE = NOISE**2  # BKB's lambda = xi^2
DELTA = 0.1
SUPPORTS = 100


def many_arms(seed: int, arms: int, dimension: int = 2, lengthscale: float = 0.2) -> KernelFunction:
    """`surefoot.problems.random_function` on uniform points, without a kernel matrix of all arms.

    f = sum of a_i k(., x_i) for 100 support arms and a_i uniform in [-1, 1], scaled to max|f| = 1;
    the norm sqrt(a'Ka) is exact.
    """
    random = np.random.default_rng([seed, arms])
    points = torch.from_numpy(random.random((arms, dimension)))
    supports = points[torch.from_numpy(random.integers(0, arms, SUPPORTS))]
    coefficients = torch.from_numpy(random.uniform(-1.0, 1.0, SUPPORTS))
    kernel = sf.kernels.squared_exponential(lengthscale)
    with torch.no_grad():
        values = kernel(points, supports).to_dense() @ coefficients
        squared_norm = coefficients @ (kernel(supports).to_dense() @ coefficients)
    largest = float(values.abs().max())
    return KernelFunction(
        sf.Arms(points), kernel, values / largest, math.sqrt(float(squared_norm)) / largest
    )


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

"""Random functions on very many arms, and the widths that are compared on them."""

import numpy as np

import surefoot as sf
from surefoot_experiments.problems import KernelFunction, random_function

NOISE = 0.1  # standard deviation of a reward
RIDGE = NOISE**2  # BKB's lambda = xi^2
DELTA = 0.1


def many_arms(seed: int, arms: int, dimension: int = 2, lengthscale: float = 0.2) -> KernelFunction:
    """A random function on uniform points, 100 of them its supports."""
    random = np.random.default_rng([seed, arms])
    kernel = sf.kernels.squared_exponential(lengthscale)
    return random_function(random, kernel, arms=arms, dimension=dimension)


def published(norm: float) -> sf.widths.bkb_as_published:
    """The width of the authors' published code."""
    return sf.widths.bkb_as_published(norm, NOISE, DELTA)


def theorem(norm: float, scale: float = 1.0) -> sf.widths.bkb:
    """The width of BKB's Theorem 2."""
    return sf.widths.bkb(norm, NOISE, DELTA, scale=scale)

"""Test of normality with fitted mean and standard deviation."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy import special

from surefoot.tails.hill import Array

SIMULATIONS = 2000


def normality(values: Array) -> tuple[float, float]:
    """Kolmogorov-Smirnov test of normality with fitted mean and standard deviation.

    The usual distribution of the statistic does not apply to fitted parameters (the test would
    hardly ever reject), so the p-value is simulated from normal samples, with a fixed seed. Samples
    of more than 500 values are compared with samples of 500 by Stephens's correction, under which
    the statistic hardly depends on the number of values.

    Args:
        values: Finite values (n,) that are not all equal.

    Returns:
        The distance and its p-value.

    References:
        Lilliefors 1967; Stephens 1974.

    Example:
        >>> import numpy as np
        >>> distance, p_value = normality(np.random.default_rng(0).normal(size=100))
        >>> p_value > 0.05
        True
    """
    # scipy.stats.monte_carlo_test gives the same p-value, but simulates anew at each call, and
    # importing scipy.stats would add a second to the import of every algorithm.
    n = len(values)
    distance = float(_ks_distance(values[None, :])[0])
    simulated = _simulated(min(n, 500))
    exceeding = int(np.sum(simulated >= distance * _stephens(n) * (1 - 1e-12)))
    return distance, (exceeding + 1) / (SIMULATIONS + 1)


def _ks_distance(samples: Array) -> Array:
    """Kolmogorov-Smirnov distance of each row (m, n) to the normal fitted to it."""
    ordered = np.sort(samples, axis=1)
    n = samples.shape[1]
    centered = ordered - ordered.mean(axis=1, keepdims=True)
    levels = special.ndtr(centered / centered.std(axis=1, ddof=1, keepdims=True))
    steps = np.arange(n + 1) / n
    return np.maximum(steps[1:] - levels, levels - steps[:-1]).max(axis=1)


@lru_cache(maxsize=8)
def _simulated(n: int) -> Array:
    """Corrected distances (s,) of simulated normal samples of n values."""
    samples = np.random.default_rng(0).standard_normal((SIMULATIONS, n))
    return _ks_distance(samples) * _stephens(n)


def _stephens(n: int) -> float:
    """Factor on the distance for n values (Stephens 1974, case of fitted mean and variance)."""
    return math.sqrt(n) - 0.01 + 0.85 / math.sqrt(n)

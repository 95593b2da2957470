"""Kernels between points (n, d) and (m, d), one pair at a time."""

import math
from collections.abc import Callable

import numpy as np
from scipy import special

Pointwise = Callable[[np.ndarray, np.ndarray], float]


def squared_exponential(lengthscale: np.ndarray) -> Pointwise:
    def k(x: np.ndarray, z: np.ndarray) -> float:
        return math.exp(-0.5 * sum(((x - z) / lengthscale) ** 2))

    return k


def matern_five_halves(lengthscale: np.ndarray) -> Pointwise:
    def k(x: np.ndarray, z: np.ndarray) -> float:
        r = math.sqrt(5.0 * sum(((x - z) / lengthscale) ** 2))
        return (1.0 + r + r**2 / 3.0) * math.exp(-r)

    return k


def matern(nu: float, lengthscale: np.ndarray) -> Pointwise:
    """Any smoothness nu (Rasmussen and Williams 2006, eq. 4.14)."""

    def k(x: np.ndarray, z: np.ndarray) -> float:
        r = math.sqrt(2.0 * nu * sum(((x - z) / lengthscale) ** 2))
        if r == 0.0:
            return 1.0
        return 2.0 ** (1.0 - nu) / math.gamma(nu) * r**nu * float(special.kv(nu, r))

    return k


def linear(x: np.ndarray, z: np.ndarray) -> float:
    return float(x @ z)


def lookup(table: np.ndarray) -> Pointwise:
    """A kernel given as a matrix; points are indices."""
    return lambda x, z: float(table[int(x[0]), int(z[0])])


def gram(k: Pointwise, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.array([[k(x, z) for z in right] for x in left])

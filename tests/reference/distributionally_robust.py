"""Worst expectations over a ball of laws, as minimisation over the laws or from their duals.

One function of Z (n,) and probabilities p (n,), all above 0.
"""

import numpy as np
from scipy.optimize import linprog, minimize_scalar


def total_variation(f: np.ndarray, p: np.ndarray, radius: float) -> float:
    """min q f over laws q, sum |q - p| <= 2 radius: a linear programme in (q, |q - p|)."""
    n, eye = len(f), np.eye(len(f))
    found = linprog(
        np.concatenate([f, np.zeros(n)]),
        A_ub=np.block([[eye, -eye], [-eye, -eye], [np.zeros((1, n)), np.ones((1, n))]]),
        b_ub=np.concatenate([p, -p, [2.0 * radius]]),
        A_eq=np.concatenate([np.ones(n), np.zeros(n)])[None],
        b_eq=[1.0],
        bounds=(0.0, None),
    )
    return float(found.fun)


def chi_squared(f: np.ndarray, p: np.ndarray, radius: float) -> float:
    """Duchi and Namkoong 2019: max over a of a - sqrt(1 + radius) (sum p (a - f)_+^2)^(1/2)."""

    def dual(a: float) -> float:
        return a - np.sqrt((1.0 + radius) * (p * np.clip(a - f, 0.0, None) ** 2).sum())

    return _largest(dual, f.min(), f.max() + 10.0 * np.ptp(f) / np.sqrt(radius) + 1.0)


def kullback_leibler(f: np.ndarray, p: np.ndarray, radius: float) -> float:
    """Hu and Hong 2013: max over temperatures s of -s ln sum p exp(-f / s) - s radius."""
    least = f.min()

    def dual(log_s: float) -> float:
        s = np.exp(log_s)
        return least - s * np.log((p * np.exp(-(f - least) / s)).sum()) - s * radius

    return _largest(dual, -20.0, 10.0)


def _largest(dual, low: float, high: float) -> float:
    """The largest value of a concave function of one number."""
    grid = np.linspace(low, high, 400)
    best = int(np.argmax([dual(a) for a in grid]))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(lambda a: -dual(a), bounds=bounds, options={"xatol": 1e-12})
    return max(-float(found.fun), dual(bounds[0]), dual(bounds[1]))

"""Bounds of a phase of fixed arms, with one weight for each reward (notes, Proposition 7).

K (t, t) is the kernel matrix of the pulls, k (t,) the kernel between them and a point, prior its
prior variance.
"""

import math

import numpy as np

Array = np.ndarray


def weights(K: Array, k: Array, lam: float) -> Array:
    """w(x) = (K + lambda I)^{-1} k_x."""
    return np.linalg.solve(K + lam * np.eye(len(k)), k)


def variance(K: Array, k: Array, prior: float, lam: float) -> float:
    """k(x, x) - k_x' (K + lambda I)^{-1} k_x."""
    return float(prior - k @ weights(K, k, lam))


def misfit(K: Array, k: Array, prior: float, w: Array) -> float:
    """Norm of k(x, .) - sum of w_s k(x_s, .)."""
    return math.sqrt(max(prior - 2 * w @ k + w @ K @ w, 0.0))


def logarithm(arms: int, delta: float, phase: int) -> float:
    """ln(2 A / delta_i), delta_i = delta / ((i + 1)(i + 2))."""
    return math.log(2 * arms * (phase + 1) * (phase + 2) / delta)


def truncated(w: Array, y: Array, v: float, a: float, L: float) -> tuple[float, float]:
    """Sum of the terms w_s y_s of at most b = (v sum |w_s|^(1+a) / L)^(1/(1+a)), and its error."""
    S = v * sum(abs(one) ** (1 + a) for one in w)
    b = (S / L) ** (1 / (1 + a))
    terms = [one for one in w * y if abs(one) <= b]
    deviation = math.sqrt(2 * S * b ** (1 - a) * L) + b * L / 3
    bias = S * b**-a
    return float(sum(terms)), deviation + bias


def sub_gaussian(w: Array, y: Array, R: float, L: float) -> tuple[float, float]:
    """w'y, with the error R |w| sqrt(2 L)."""
    return float(w @ y), R * math.sqrt(2 * L * (w @ w))

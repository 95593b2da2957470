"""Bounds of Flynn and Reeb 2024, with kernel matrices and no features.

K is the kernel matrix of the t points of the rewards y, k (t, n) the kernel between them and n
points, prior (n,) the prior variance there. R_t and the bounds for one a are literal; a dictionary
enters as in notes/guarantees.md.
"""

import math

import numpy as np

Array = np.ndarray


def squared_noise(K: Array, lam: float, R: float, delta: float, excess: float = 0.0) -> float:
    """R^2 (ln det(I + K/lambda) + 2 ln(1/delta)); `excess` is tr(K - K~)/lambda of a dictionary."""
    log_det = np.linalg.slogdet(np.eye(len(K)) + K / lam)[1] + excess
    return float(R**2 * (log_det + 2 * math.log(1 / delta)))


def squared_radius(K: Array, y: Array, lam: float, R: float, delta: float) -> float:
    """R_t^2 = lambda y'(K + lambda I)^{-1} y + R^2 ln det(I + K/lambda) + 2 R^2 ln(1/delta)."""
    fit = lam * y @ np.linalg.solve(K + lam * np.eye(len(y)), y)
    return float(fit + squared_noise(K, lam, R, delta))


def bounds(
    K: Array,
    k: Array,
    prior: Array,
    y: Array,
    radius: float,
    B: float,
    a: float,
) -> tuple[Array, Array]:
    """mu_a -+ sigma_a sqrt(R_t^2/a + B^2 - y'(K + aI)^{-1} y), R_t being `radius`."""
    inverse = np.linalg.inv(K + a * np.eye(len(y)))
    mean = k.T @ inverse @ y
    deviation = np.sqrt(np.maximum(prior - np.einsum("tn,ts,sn->n", k, inverse, k), 0.0))
    width = math.sqrt(radius**2 / a + B**2 - y @ inverse @ y)
    return mean - width * deviation, mean + width * deviation


def narrowest(
    K: Array, k: Array, prior: Array, y: Array, radius: float, B: float, shifts: list[float]
) -> tuple[Array, Array]:
    """The largest lower and the smallest upper bound over a."""
    each = [bounds(K, k, prior, y, radius, B, a) for a in shifts]
    return np.max([lower for lower, _ in each], 0), np.min([upper for _, upper in each], 0)


def dictionary_width(
    sketched: Array, exact: Array, lam: float, F: float, R: float, delta: float
) -> float:
    """R sqrt((ln det(I + K~/lam) + T + 2 ln(1/delta)) / lam) + F (1 + sqrt(T)), T = tr/lam."""
    excess = float(np.trace(exact - sketched)) / lam
    noise = math.sqrt(squared_noise(sketched, lam, R, delta, excess) / lam)
    return noise + F * (1 + math.sqrt(excess))


def least_norm(K: Array, y: Array, radius: float, shifts: list[float]) -> float:
    """Root of max over a of y'(K + aI)^{-1} y - R_t^2/a, at most ||f||; `radius` is R_t."""
    squares = [y @ np.linalg.solve(K + a * np.eye(len(y)), y) - radius**2 / a for a in shifts]
    return math.sqrt(max(0.0, *squares))

"""Gaussian process regression with noise variance lambda, exact and on a dictionary."""

import numpy as np

from reference.covariance import Pointwise, gram


def exact(
    k: Pointwise,
    pulled: np.ndarray,  # (t, d), as often as it was pulled
    rewards: np.ndarray,  # (t,)
    ridge: float,
    points: np.ndarray,  # (n, d)
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance: Rasmussen and Williams 2006, eq. 2.23 and 2.24, without test noise."""
    noisy = gram(k, pulled, pulled) + ridge * np.eye(len(pulled))
    cross = gram(k, points, pulled)
    mean = cross @ np.linalg.solve(noisy, rewards)
    variance = [
        k(x, x) - row @ np.linalg.solve(noisy, row) for x, row in zip(points, cross, strict=True)
    ]
    return mean, np.array(variance)


def on_dictionary(
    k: Pointwise,
    dictionary: np.ndarray,  # (m, d)
    pulled: np.ndarray,
    rewards: np.ndarray,
    ridge: float,
    points: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The DTC posterior: Quinonero-Candela and Rasmussen 2005, eq. 20 (its first form).

    With A = K_S + K_St K_tS / lambda: mean k_S(x)' A^{-1} K_St y / lambda, variance
    k(x, x) - k_S(x)' K_S^{-1} k_S(x) + k_S(x)' A^{-1} k_S(x).
    """
    K_S = gram(k, dictionary, dictionary)
    K_St = gram(k, dictionary, pulled)
    A = K_S + K_St @ K_St.T / ridge
    mean, variance = [], []
    for x in points:
        k_S = gram(k, dictionary, x[None, :])[:, 0]
        mean.append(k_S @ np.linalg.solve(A, K_St @ rewards) / ridge)
        variance.append(k(x, x) - k_S @ np.linalg.solve(K_S, k_S) + k_S @ np.linalg.solve(A, k_S))
    return np.array(mean), np.array(variance)


def information_gain(k: Pointwise, pulled: np.ndarray, ridge: float) -> float:
    """Half of ln det(I + K / lambda): Srinivas et al. 2010, section 2.2."""
    identity = np.eye(len(pulled))
    return 0.5 * np.linalg.slogdet(identity + gram(k, pulled, pulled) / ridge)[1]


def draws(
    k: Pointwise,
    pulled: np.ndarray,
    rewards: np.ndarray,
    ridge: float,
    points: np.ndarray,
    number: int,
    generator: np.random.Generator,
) -> np.ndarray:
    """Values (number, n) at the points of functions drawn from the posterior."""
    noisy = gram(k, pulled, pulled) + ridge * np.eye(len(pulled))
    cross = gram(k, points, pulled)
    mean = cross @ np.linalg.solve(noisy, rewards)
    covariance = gram(k, points, points) - cross @ np.linalg.solve(noisy, cross.T)
    return generator.multivariate_normal(mean, covariance, size=number, method="eigh")

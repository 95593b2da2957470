"""Kernel bandits under heavy-tailed payoffs: Ray Chowdhury and Gopalan 2019, line by line.

K_t (t, t), k_t(x) as rows (n, t) and Phi (t, m) run over all pulls, an arm as often as it was
pulled; nothing is counted, folded, pruned or updated.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

Root = Literal["symmetric", "cholesky"]


# Algorithm 1 and Theorem 1


def truncation_threshold(v: float, alpha: float, t: int) -> float:
    """b_t of Theorem 1."""
    return v ** (1 / (1 + alpha)) * t ** (1 / (2 * (1 + alpha)))


def truncated_rewards(rewards: np.ndarray, v: float, alpha: float) -> np.ndarray:
    """Y_hat_t: each reward stays if it is within the threshold of the round that brought it."""
    kept = [
        y if abs(y) <= truncation_threshold(v, alpha, s) else 0.0
        for s, y in enumerate(rewards, start=1)
    ]
    return np.array(kept)


def truncated_posterior(
    K_t: np.ndarray,  # (t, t)
    k_t: np.ndarray,  # (n, t)
    k_xx: np.ndarray,  # (n,)
    Y_hat: np.ndarray,  # (t,)
    ridge: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of Algorithm 1; its last line lacks the k(x, x) - that section 3 has."""
    noisy = K_t + ridge * np.eye(len(K_t))
    mean = k_t @ np.linalg.solve(noisy, Y_hat)
    variance = k_xx - np.array([row @ np.linalg.solve(noisy, row) for row in k_t])
    return mean, variance


def log_determinant(K_t: np.ndarray, ridge: float) -> float:
    """ln |I_t + K_t / lambda|."""
    return np.linalg.slogdet(np.eye(len(K_t)) + K_t / ridge)[1]


def truncation_width(
    B: float, v: float, alpha: float, delta: float, ridge: float, t: int, log_det: float
) -> float:
    """beta_{t+1} of Theorem 1; log_det is ln |I_t + K_t / lambda|."""
    b_t = truncation_threshold(v, alpha, t)
    return B + 3 / math.sqrt(ridge) * b_t * math.sqrt(log_det + 2 * math.log(1 / delta))


# Section 5.1: the feature maps


def hermite(n: int, z: float) -> float:
    """H_n(z), physicists': H_0 = 1, H_1 = 2z, H_{j+1} = 2z H_j - 2j H_{j-1}."""
    before, now = 0.0, 1.0
    for j in range(n):
        before, now = now, 2 * z * now - 2 * j * before
    return now


def hermite_roots(nodes: int) -> np.ndarray:
    """The real roots of H_n: eigenvalues of the recurrence (Golub and Welsch 1969, section 2)."""
    beside = np.sqrt(np.arange(1, nodes) / 2)
    return np.linalg.eigvalsh(np.diag(beside, 1) + np.diag(beside, -1))


def quadrature_features(
    points: np.ndarray,  # (n, d)
    nodes: int,  # m_bar, to an axis
    lengthscale: float,
) -> np.ndarray:
    """Eq. 1: (n, 2 m), m = m_bar^d, every node of the product grid by itself."""
    dimension = points.shape[1]

    def nu(z: tuple[float, ...]) -> float:
        return math.prod(
            2.0 ** (nodes - 1) * math.factorial(nodes) / (nodes**2 * hermite(nodes - 1, z_j) ** 2)
            for z_j in z
        )

    grid = list(itertools.product(hermite_roots(nodes), repeat=dimension))
    cosines = [
        math.sqrt(nu(omega)) * np.cos(math.sqrt(2) / lengthscale * points @ np.array(omega))
        for omega in grid
    ]
    sines = [
        math.sqrt(nu(omega)) * np.sin(math.sqrt(2) / lengthscale * points @ np.array(omega))
        for omega in grid
    ]
    return np.array(cosines + sines).T


def additive_quadrature_features(
    points: np.ndarray,  # (n, d)
    nodes: int,
    groups: dict[tuple[int, ...], tuple[list[float], float]],  # lengthscales and variance of each
) -> np.ndarray:
    """Mutny and Krause 2018: eq. 1 for each group of coordinates, side by side."""
    parts = [
        math.sqrt(variance) * quadrature_features(points[:, list(group)] / lengths, nodes, 1.0)
        for group, (lengths, variance) in groups.items()
    ]
    return np.hstack(parts)


def quadrature_error(nodes: int, lengthscale: float, dimension: int) -> float:
    """The bound on epsilon_m above Theorem 3."""
    decay = (math.e / (4 * lengthscale**2)) ** nodes
    return dimension * 2 ** (dimension - 1) / (math.sqrt(2) * nodes**nodes) * decay


def nystrom_features(
    K_D: np.ndarray,  # (m, m)
    k_D: np.ndarray,  # (n, m), the k_D(x) as rows
) -> np.ndarray:
    """(K_D^{1/2})^+ k_D(x) as rows (n, m), the root and its pseudo-inverse symmetric."""
    values, vectors = np.linalg.eigh(K_D)
    kept = values > 1e-12 * values.max()
    inverse_roots = np.where(kept, np.where(kept, values, 1.0) ** -0.5, 0.0)
    return k_D @ (vectors @ np.diag(inverse_roots) @ vectors.T)


# Algorithm 2


@dataclass(frozen=True)
class AdaptivelyTruncated:
    """theta_tilde (m,), the products u_{i,tau} y_tau (m, t), and which of them were kept."""

    theta: np.ndarray
    products: np.ndarray
    kept: np.ndarray


def inverse_root(V: np.ndarray, root: Root) -> np.ndarray:
    """W with W' W = V^{-1}: the paper's V^{-1/2}, or the inverse of the Cholesky factor of V."""
    if root == "cholesky":
        return np.linalg.inv(np.linalg.cholesky(V))
    values, vectors = np.linalg.eigh(V)
    return vectors @ np.diag(values**-0.5) @ vectors.T


def adaptive_truncation(
    Phi: np.ndarray,  # (t, m)
    rewards: np.ndarray,  # (t,), as they came
    ridge: float,
    b_t: float,
    root: Root,
) -> AdaptivelyTruncated:
    """theta_tilde_t: all history at the threshold of today."""
    V = Phi.T @ Phi + ridge * np.eye(Phi.shape[1])
    W = inverse_root(V, root)
    products = W @ Phi.T * rewards
    kept = np.abs(products) <= b_t
    r_hat = np.array([row[keep].sum() for row, keep in zip(products, kept, strict=True)])
    return AdaptivelyTruncated(W.T @ r_hat, products, kept)


def ridge_regression(Phi: np.ndarray, rewards: np.ndarray, ridge: float) -> np.ndarray:
    """V^{-1} Phi' y, for comparison."""
    return np.linalg.solve(Phi.T @ Phi + ridge * np.eye(Phi.shape[1]), Phi.T @ rewards)


def fourier_variance(
    Phi: np.ndarray,  # (t, m)
    phi: np.ndarray,  # (n, m), at the points asked about
    ridge: float,
) -> np.ndarray:
    """(i) lambda phi(x)' V^{-1} phi(x)."""
    V = Phi.T @ Phi + ridge * np.eye(Phi.shape[1])
    return np.array([ridge * x @ np.linalg.solve(V, x) for x in phi])


def nystrom_variance(
    Phi: np.ndarray, phi: np.ndarray, k_xx: np.ndarray, ridge: float
) -> np.ndarray:
    """(ii) k(x, x) - phi(x)' phi(x) + lambda phi(x)' V^{-1} phi(x)."""
    return k_xx - np.array([x @ x for x in phi]) + fourier_variance(Phi, phi, ridge)


# Lemma 1 and Theorem 4


def fourier_threshold(v: float, alpha: float, delta: float, t: int, m: int, T: int) -> float:
    """b_t of Lemma 1, m the dimension of the feature map."""
    return (v / math.log(2 * m * T / delta)) ** (1 / (1 + alpha)) * t ** _drift(alpha)


def fourier_width(
    B: float, v: float, alpha: float, delta: float, ridge: float, t: int, m: int, T: int
) -> float:
    """beta_{t+1} of Lemma 1."""
    logarithm = math.log(2 * m * T / delta) ** (alpha / (1 + alpha))
    return B + 4 * math.sqrt(m / ridge) * v ** (1 / (1 + alpha)) * logarithm * t ** _drift(alpha)


def nystrom_threshold(v: float, alpha: float, delta: float, t: int, m: int, T: int) -> float:
    """b_t of Theorem 4, m = m_t the dimension of this round's feature map."""
    return (v / math.log(4 * m * T / delta)) ** (1 / (1 + alpha)) * t ** _drift(alpha)


def nystrom_width(
    B: float,
    v: float,
    alpha: float,
    delta: float,
    ridge: float,
    t: int,
    m: int,
    T: int,
    epsilon: float,
) -> float:
    """beta_{t+1} of Theorem 4."""
    logarithm = math.log(4 * m * T / delta) ** (alpha / (1 + alpha))
    noise = 4 * math.sqrt(m / ridge) * v ** (1 / (1 + alpha)) * logarithm * t ** _drift(alpha)
    return B * (1 + 1 / math.sqrt(1 - epsilon)) + noise


# Section 6: the constants of the authors' code


def published_threshold(v: float, alpha: float, t: int, m: int, T: int) -> float:
    """b_t with ln(m T): no delta and no factor."""
    return (v / math.log(m * T)) ** (1 / (1 + alpha)) * t ** _drift(alpha)


def published_oversampling(T: int, epsilon: float) -> float:
    """q = ln T / epsilon^2."""
    return math.log(T) / epsilon**2


def _drift(alpha: float) -> float:
    return (1 - alpha) / (2 * (1 + alpha))

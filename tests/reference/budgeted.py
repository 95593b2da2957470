"""Budgeted kernel bandits: Calandriello et al. 2019, line by line, in the paper's own units.

The paper divides every posterior variance by lambda, from its eq. 4 on; so does this file. Arms are
rows of one kernel matrix, X_t lists pulls, an arm as often as it was pulled, and S_t lists arms.
"""

import math
from dataclasses import dataclass

import numpy as np


def inverse_root(K: np.ndarray) -> np.ndarray:
    """(K^{1/2})^+, symmetric; eigenvalues within rounding of zero have no root to invert."""
    values, vectors = np.linalg.eigh(K)
    above = values > len(K) * np.finfo(float).eps * np.abs(values).max()
    return vectors[:, above] @ np.diag(values[above] ** -0.5) @ vectors[:, above].T


@dataclass(frozen=True)
class Sketched:
    """Section 3.1 after t rounds, with the dictionary that round t drew."""

    K: np.ndarray  # (A, A), of all arms
    X_t: np.ndarray  # (t,), which arm each round pulled
    S_t: np.ndarray  # (m,), which arms the dictionary holds, copies and all
    ridge: float

    @property
    def z(self) -> np.ndarray:
        """The embedding of every arm as rows (A, m)."""
        K_S, k_S = self.K[np.ix_(self.S_t, self.S_t)], self.K[:, self.S_t]
        return k_S @ inverse_root(K_S)

    @property
    def Z(self) -> np.ndarray:  # noqa: N802
        """Z_t(X_t), (t, m)."""
        return self.z[self.X_t]

    @property
    def V(self) -> np.ndarray:  # noqa: N802
        return self.Z.T @ self.Z + self.ridge * np.eye(len(self.S_t))

    def mean(self, y: np.ndarray) -> np.ndarray:
        """mu~_t of every arm (A,), from rewards (t,)."""
        return self.z @ np.linalg.solve(self.V, self.Z.T @ y)

    def variance(self) -> np.ndarray:
        """sigma~_t^2 of every arm (A,), eq. 4."""
        z, Z, V = self.z, self.Z, self.V
        explained = [z_i @ Z.T @ Z @ np.linalg.solve(V, z_i) for z_i in z]
        return (self.K.diagonal() - np.array(explained)) / self.ridge

    def subset_of_regressors(self) -> np.ndarray:
        """Eq. 4 with z(x)' z(x) in the place of k(x, x), (A,)."""
        z, Z, V = self.z, self.Z, self.V
        return np.array([z_i @ z_i - z_i @ Z.T @ Z @ np.linalg.solve(V, z_i) for z_i in z]) / (
            self.ridge
        )


def exact_mean(K: np.ndarray, X_t: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    """Eq. 1 at every arm (A,)."""
    K_t = K[np.ix_(X_t, X_t)]
    return K[:, X_t] @ np.linalg.solve(K_t + ridge * np.eye(len(X_t)), y)


def exact_variance(K: np.ndarray, X_t: np.ndarray, ridge: float) -> np.ndarray:
    """Eq. 2 at every arm (A,), over lambda, as Theorem 1 and eq. 5 need it."""
    K_t, k_t = K[np.ix_(X_t, X_t)], K[:, X_t]
    explained = (k_t.T * np.linalg.solve(K_t + ridge * np.eye(len(X_t)), k_t.T)).sum(axis=0)
    return (K.diagonal() - explained) / ridge


def posterior_covariance(K: np.ndarray, counts: np.ndarray, ridge: float) -> np.ndarray:
    """Eq. 2 between arms (A, A), not over lambda, for so many pulls (A,), at least one, of each.

    n pulls of one arm with noise lambda are one with noise lambda / n.
    """
    return K - K @ np.linalg.solve(K + ridge * np.diag(1 / counts), K)


def effective_dimension(K: np.ndarray, X_t: np.ndarray, ridge: float) -> float:
    """Eq. 5: Tr(K_t (K_t + lambda I)^{-1})."""
    K_t = K[np.ix_(X_t, X_t)]
    return float(np.trace(np.linalg.solve(K_t + ridge * np.eye(len(X_t)), K_t)))


def alpha(epsilon: float) -> float:
    return (1 + epsilon) / (1 - epsilon)


def oversampling(T: int, delta: float, epsilon: float) -> float:
    """The least q-bar of Theorem 1."""
    return 6 * alpha(epsilon) * math.log(4 * T / delta) / epsilon**2


def dictionary_bound(kappa: float, ridge: float, epsilon: float, q: float, d_eff: float) -> float:
    """The most |S_t| of Theorem 1."""
    return 3 * (1 + kappa**2 / ridge) * alpha(epsilon) * q * d_eff


def inclusion(variance: np.ndarray, q: float) -> np.ndarray:
    """Algorithm 1: the chance that one past pull enters, where that is below 1 (footnote 5)."""
    return np.minimum(q * variance, 1.0)


def inclusion_of_arm(p: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The chance that one at least of an arm's n pulls enters, each by itself with chance p."""
    return 1 - (1 - p) ** n


def width(
    variances: np.ndarray | list[float],  # (t,), sigma~_t^2(x_s) of every pull at the present t
    xi: float,
    F: float,
    delta: float,
    epsilon: float,
    ridge: float,
    kappa: float,
) -> float:
    """beta~_t of Theorem 2, which multiplies sigma~_t, not its square."""
    noise = alpha(epsilon) * math.log(kappa**2 * len(variances)) * sum(variances)
    bias = (1 + 1 / math.sqrt(1 - epsilon)) * math.sqrt(ridge) * F
    return 2 * xi * math.sqrt(noise + math.log(1 / delta)) + bias

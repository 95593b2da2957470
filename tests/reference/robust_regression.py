"""Robust regression in function space: no features, no factor, no tricks."""

import numpy as np
from scipy.optimize import minimize


def huber(
    K: np.ndarray,  # (t, t), kernel of the pulled points
    rewards: np.ndarray,  # (t,)
    ridge: float,
    threshold: float,
) -> np.ndarray:
    """The f (t,) that minimises sum rho(y - f) + ridge / 2 ||f||^2, rho of Huber 1964, eq. 1.6."""

    def loss(alpha: np.ndarray) -> tuple[float, np.ndarray]:
        r = rewards - K @ alpha
        size = np.abs(r)
        inside = size <= threshold
        rho = np.where(inside, 0.5 * r**2, threshold * size - 0.5 * threshold**2)
        psi = np.where(inside, r, threshold * np.sign(r))
        value = rho.sum() + 0.5 * ridge * alpha @ K @ alpha
        return value, K @ (ridge * alpha - psi)

    found = minimize(
        loss,
        np.zeros(len(rewards)),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 100_000, "maxfun": 100_000, "ftol": 1e-16, "gtol": 1e-11},
    )
    return K @ found.x


def student_t(
    K: np.ndarray,  # (t, t)
    rewards: np.ndarray,  # (t,)
    squared_scale: float,
    dof: float,
    weights: np.ndarray,  # (t,), to start from
    rounds: int = 5000,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, variance and E[tau], each (t,), at the fixed point of variational inference.

    y_i ~ N(f_i, s^2 / tau_i), tau_i ~ Gamma(nu / 2, nu / 2): Tipping and Lawrence 2005, section 3.
    """
    for _ in range(rounds):
        noise = np.diag(squared_scale / weights)
        gain = K @ np.linalg.inv(K + noise)
        mean = gain @ rewards
        variance = np.diag(K - gain @ K)
        expected_square = (rewards - mean) ** 2 + variance
        weights = (dof + 1) / (dof + expected_square / squared_scale)
    return mean, variance, weights

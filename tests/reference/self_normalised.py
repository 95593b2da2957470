"""Bounds by Delyon's inequality, with kernel matrices and no features (notes/guarantees.md).

K is the kernel matrix (t, t) of the features at the points of the rewards y (t,), which say by
`site` (t,) where they are from, k (t, n) the kernel between them and n points, prior (n,) that of
features at these. What features leave is `left` (t,) at the rewards and `beside` (n,) at the
points, both 0 where they represent the kernel.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Assumed:
    """E y^2 <= v or E (y - f)^2 <= v, ||g|| <= B, |f - g| <= misfit, and the mixture's rho."""

    v: float
    center: Literal["zero", "mean"]
    B: float
    delta: float
    rho: float
    misfit: float = 0.0


def spread(y: Array, low: float, high: float, known: Assumed) -> float:
    """Largest sum of (eps^2 + 2 sigma^2) / 3 over f in [low, high], for rewards of one point."""

    def total(f: float) -> float:
        variance = known.v - (f**2 if known.center == "zero" else 0.0)
        return float(sum((reward - f) ** 2 + 2 * variance for reward in y) / 3)

    ends = [low, high]
    if known.center == "zero":  # -f^2 - 2 f y, which is concave
        ends = [min(max(-float(np.mean(y)), low), high)]
    return max(total(f) for f in ends)


def radius(K: Array, weights: Array, left: Array, known: Assumed) -> float:
    """sqrt(ln det(I + W / rho) + 2 ln(1 / delta)), with rewards' shares `weights` (t,) of W."""
    root = np.sqrt(weights)
    log_det = np.linalg.slogdet(np.eye(len(K)) + root[:, None] * K * root / known.rho)[1]
    return math.sqrt(log_det + weights @ left / known.rho + 2 * math.log(1 / known.delta))


def bounds_of_one(
    K: Array,
    k: Array,
    prior: Array,
    y: Array,
    weights: Array,
    left: Array,
    beside: Array,
    a: float,
    known: Assumed,
) -> tuple[Array, Array]:
    """alpha' y -+ the bias of k(x, .) - sum of alpha_s k(x_s, .) and the noise of alpha.

    alpha = K q for q = (K^2 + a K + a rho / v I)^{-1} k(X, x), and h = k(., X) q is alpha at X.
    """
    q = np.linalg.solve(K @ K + a * K + a * known.rho / known.v * np.eye(len(y)), k)
    alpha = K @ q
    mean = alpha.T @ y
    within = np.maximum(prior - 2 * (alpha * k).sum(0) + (alpha * (K @ alpha)).sum(0), 0.0)
    far = np.sqrt(beside) + np.sqrt(left.sum() * (alpha**2).sum(0))
    bias = known.B * np.sqrt(within + far**2)
    bias += known.misfit * (1.0 + math.sqrt(len(y)) * np.sqrt((alpha**2).sum(0)))
    noise = np.sqrt(known.rho * (q * (K @ q)).sum(0) + weights @ alpha**2)
    reach = bias + radius(K, weights, left, known) * noise
    return mean - reach, mean + reach


def bounds(
    K: Array,
    k: Array,
    prior: Array,
    y: Array,
    site: Array,
    left: Array,
    beside: Array,
    ridges: list[float],
    known: Assumed,
    passes: int,
) -> tuple[Array, Array]:
    """The narrowest bounds over a, with W found again from those at the rewards."""
    own = np.sqrt(np.diag(K) + left) * known.B + known.misfit
    high = np.minimum(own, math.sqrt(known.v)) if known.center == "zero" else own
    low = -high
    for _ in range(passes):
        weights = np.empty(len(y))
        for one in set(site.tolist()):
            rows = site == one
            share = spread(y[rows], low[rows][0], high[rows][0], known) / rows.sum()
            weights[rows] = share
        parts = y, weights, left
        at = [bounds_of_one(K, K, np.diag(K), *parts, left, a, known) for a in ridges]
        low = np.max([low, *(lower for lower, _ in at)], 0)
        high = np.min([high, *(upper for _, upper in at)], 0)
    at = [bounds_of_one(K, k, prior, *parts, beside, a, known) for a in ridges]
    return np.max([lower for lower, _ in at], 0), np.min([upper for _, upper in at], 0)

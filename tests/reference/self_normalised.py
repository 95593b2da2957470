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
    order: float = 2.0
    small: float = 1 / 6  # c and C of the inequality
    large: float = 1 / 3


def taus(t: int, known: Assumed) -> Array:
    """tau_s^p = 1 / (2 v (1 + (s - 1) / 10)) for s = 1 .. t."""
    return np.array([1 / (2 * known.v * (1 + s / 10)) for s in range(t)])


def level(t: int, known: Assumed) -> float:
    """Mean of p tau_s^(p - 2) (c + C) v."""
    p = known.order
    each = [p * tau ** ((p - 2) / p) * (known.small + known.large) for tau in taus(t, known)]
    return known.v * sum(each) / t


def power_spread(y: Array, tau: Array, low: float, high: float, known: Assumed) -> list[float]:
    """Largest sums of p tau^(p-2) and of (2 - p) tau^p times c |eps|^p + C v for f at an end."""
    p = known.order
    v = known.v if known.center == "mean" else 2 ** (2 - p) * known.v
    found = []
    for factor in (p * tau ** ((p - 2) / p), (2 - p) * tau):
        at = [sum(factor * (known.small * abs(y - f) ** p + known.large * v)) for f in (low, high)]
        found.append(max(at))
    return found


def spread(y: Array, low: float, high: float, known: Assumed) -> float:
    """Largest sum of (eps^2 + 2 sigma^2) / 3 over f in [low, high], for rewards of one point."""

    def total(f: float) -> float:
        variance = known.v - (f**2 if known.center == "zero" else 0.0)
        return float(sum((reward - f) ** 2 + 2 * variance for reward in y) / 3)

    ends = [low, high]
    if known.center == "zero":  # -f^2 - 2 f y, which is concave
        ends = [min(max(-float(np.mean(y)), low), high)]
    return max(total(f) for f in ends)


def radius(K: Array, weights: Array, left: Array, known: Assumed, more: float = 0.0) -> float:
    """sqrt(ln det(I + W / rho) + 2 ln(1 / delta)), with rewards' shares `weights` (t,) of W.

    `more` is what an order below 2 adds under the root.
    """
    root = np.sqrt(weights)
    log_det = np.linalg.slogdet(np.eye(len(K)) + root[:, None] * K * root / known.rho)[1]
    return math.sqrt(log_det + more + weights @ left / known.rho + 2 * math.log(1 / known.delta))


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
    more: float = 0.0,
) -> tuple[Array, Array]:
    """alpha' y -+ the bias of k(x, .) - sum of alpha_s k(x_s, .) and the noise of alpha.

    alpha = K q for q = (K^2 + a K + a rho / level I)^{-1} k(X, x), and h = k(., X) q is alpha at X.
    """
    q = np.linalg.solve(K @ K + a * K + a * known.rho / level(len(y), known) * np.eye(len(y)), k)
    alpha = K @ q
    mean = alpha.T @ y
    within = np.maximum(prior - 2 * (alpha * k).sum(0) + (alpha * (K @ alpha)).sum(0), 0.0)
    far = np.sqrt(beside) + np.sqrt(left.sum() * (alpha**2).sum(0))
    bias = known.B * np.sqrt(within + far**2)
    bias += known.misfit * (1.0 + math.sqrt(len(y)) * np.sqrt((alpha**2).sum(0)))
    noise = np.sqrt(known.rho * (q * (K @ q)).sum(0) + weights @ alpha**2)
    reach = bias + radius(K, weights, left, known, more) * noise
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
    high = np.minimum(own, known.v ** (1 / known.order)) if known.center == "zero" else own
    low = -high
    for _ in range(passes):
        weights, more = np.empty(len(y)), 0.0
        for one in set(site.tolist()):
            rows = site == one
            ends = low[rows][0], high[rows][0]
            if known.order < 2:
                share, of_radius = power_spread(y[rows], taus(len(y), known)[rows], *ends, known)
                more += of_radius
            else:
                share = spread(y[rows], *ends, known)
            weights[rows] = share / rows.sum()
        parts = y, weights, left
        at = [bounds_of_one(K, K, np.diag(K), *parts, left, a, known, more) for a in ridges]
        low = np.max([low, *(lower for lower, _ in at)], 0)
        high = np.min([high, *(upper for _, upper in at)], 0)
    at = [bounds_of_one(K, k, prior, *parts, beside, a, known, more) for a in ridges]
    return np.max([lower for lower, _ in at], 0), np.min([upper for _, upper in at], 0)

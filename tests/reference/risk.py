"""Value-at-Risk optimisation: Nguyen et al. 2021, sections 2 and 3, term by term.

Chances are whole numbers: P(Z = z_j) = m_j / M with M the sum of the m_j, and a level is a
Fraction, so that every comparison of chances is exact. Arrays are over z last. Where the values are
whole numbers too, nothing is rounded before the last division of a mean.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np


def cdf(f: np.ndarray, m: np.ndarray) -> np.ndarray:
    """M P(f(Z) <= f(z_i)) for every i, (..., n)."""
    return (m * (f[..., None, :] <= f[..., :, None])).sum(axis=-1)


def var(f: np.ndarray, m: np.ndarray, level: Fraction) -> np.ndarray:
    """Eq. 1, inf{w : P(f(Z) <= w) >= level}, (...): the chance steps up at values of f alone."""
    reached = cdf(f, m) * level.denominator >= level.numerator * m.sum()
    return np.where(reached, f, f.max()).min(axis=-1)


def cvar(f: np.ndarray, m: np.ndarray, level: Fraction) -> np.ndarray:
    """The mean of the lower tail of chance `level`, the atom at its edge split, (...)."""
    edge = var(f, m, level)
    below = f < edge[..., None]
    inside = (m * below).sum(axis=-1) * level.denominator
    share = level.numerator * m.sum() - inside  # of the atom at the edge, in M * denominator parts
    tail = (m * f * below).sum(axis=-1) * level.denominator + share * edge
    return tail / (level.numerator * int(m.sum()))


def cvar_as_integral(f: np.ndarray, m: np.ndarray, level: Fraction) -> Fraction:
    """The integral of VaR_a over a in (0, level), over level; one f (n,)."""
    steps = sorted({Fraction(int(c), int(m.sum())) for c in cdf(f, m)} | {Fraction(0), level})
    steps = [a for a in steps if a <= level]
    pieces = [
        (right - left) * Fraction(float(var(f, m, right)))  # VaR is constant on (left, right]
        for left, right in itertools.pairwise(steps)
    ]
    return sum(pieces, Fraction(0)) / level


def worst_case(f: np.ndarray, m: np.ndarray) -> np.ndarray:
    """The minimum over the support of Z, (...)."""
    return f[..., m > 0].min(axis=-1)


def mean(f: np.ndarray, m: np.ndarray) -> np.ndarray:
    return (m * f).sum(axis=-1) / int(m.sum())


def encloses(
    lower: np.ndarray, upper: np.ndarray, m: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Definition 1 for [low, high] (...), of z in the support of Z (..., n)."""
    return (lower <= low[..., None]) & (high[..., None] <= upper) & (m > 0)


def lacing(lower: np.ndarray, upper: np.ndarray, m: np.ndarray, level: Fraction) -> np.ndarray:
    """Definition 1: the z whose interval holds that of VaR (..., n)."""
    return encloses(lower, upper, m, var(lower, m, level), var(upper, m, level))


def stable_lacing(lower: np.ndarray, m: np.ndarray) -> np.ndarray:
    """What lacing values become as the level falls to 0, the minimisers of l (Corollary 2.2)."""
    return (lower == worst_case(lower, m)[..., None]) & (m > 0)


def cvar_lacing(
    lower: np.ndarray, upper: np.ndarray, m: np.ndarray, level: Fraction
) -> list[np.ndarray]:
    """For one l and u (n,): lacing values (n,) of each level up to `level` of widest VaR interval.

    The interval changes where a step of either distribution ends, so those levels are all there is
    to try. More than one may be widest; each serves, since the interval of CVaR, a mean over
    levels, is no wider (Nguyen et al. 2021, the construction for CVaR).
    """
    ends = {Fraction(int(c), int(m.sum())) for f in (lower, upper) for c in cdf(f, m)}
    levels = sorted(a for a in ends | {level} if 0 < a <= level)
    widths = [var(upper, m, a) - var(lower, m, a) for a in levels]
    widest = [a for a, width in zip(levels, widths, strict=True) if width == max(widths)]
    return [lacing(lower, upper, m, a) for a in widest]


@dataclass(frozen=True)
class Round:
    """What Algorithm 1 knows in round t on a grid of designs x times environments z.

    Row x * n + z of the kernel matrix is the pair (x, z).
    """

    K: np.ndarray  # (A * n, A * n)
    pairs: np.ndarray  # (s,), the row of every observation
    y: np.ndarray  # (s,)
    noise: float  # sigma_n^2
    t: int  # counted from 1
    m: np.ndarray  # (n,)

    def posterior(self) -> tuple[np.ndarray, np.ndarray]:
        """Eq. 2: mu_{t-1} and sigma_{t-1} of all pairs, (A, n) both."""
        K_D = self.K[:, self.pairs]
        precision = np.linalg.inv(K_D[self.pairs] + self.noise * np.eye(len(self.pairs)))
        variance = self.K.diagonal() - np.einsum("ij,jk,ik->i", K_D, precision, K_D)
        mu, sigma = K_D @ precision @ self.y, np.sqrt(np.maximum(variance, 0.0))
        return mu.reshape(-1, len(self.m)), sigma.reshape(-1, len(self.m))

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Eq. 3: l_{t-1} and u_{t-1}, (A, n), with beta_t of Appendix I."""
        mu, sigma = self.posterior()
        width = math.sqrt(2 * math.log(self.t**2 * math.pi**2 / 0.6))
        return mu - width * sigma, mu + width * sigma

    def v_ucb(self, level: Fraction) -> tuple[int, np.ndarray]:
        """Algorithm 1, lines 3 and 4: the design x_t, and which z may be z_t (n,)."""
        lower, upper = self.bounds()
        x = int(var(upper, self.m, level).argmax())
        return x, lacing(lower[x], upper[x], self.m, level)

    def stable_opt(self) -> tuple[int, np.ndarray]:
        """Eq. 5 over the support of Z: the design x_t, and which z may be z_t (n,)."""
        lower, upper = self.bounds()
        x = int(worst_case(upper, self.m).argmax())
        return x, stable_lacing(lower[x], self.m)

"""Confidence widths, as their theorems state them."""

import math


def srinivas(t: int, delta: float) -> float:
    """sqrt(beta_t), beta_t = 2 ln(|D| t^2 pi^2 / (6 delta)), |D| = 1 (Srinivas 2010, Theorem 1)."""
    return math.sqrt(2 * math.log(t**2 * math.pi**2 / (6 * delta)))


def chowdhury_gopalan(B: float, R: float, gain: float, delta: float) -> float:
    """B + R sqrt(2 (gamma_{t-1} + 1 + ln(1/delta))) (Chowdhury and Gopalan 2017, Theorem 2)."""
    return B + R * math.sqrt(2 * (gain + 1 + math.log(1 / delta)))


def truncated_as_published(B: float, v: float, alpha: float, lam: float, t: int) -> float:
    """B sqrt(lam) + b_t sqrt(ln t), b_t of heavy-tailed payoffs, Theorem 1."""
    b_t = v ** (1 / (1 + alpha)) * t ** (1 / (2 * (1 + alpha)))
    return B * math.sqrt(lam) + b_t * math.sqrt(math.log(t))


def adaptive_as_published(
    B: float, v: float, alpha: float, lam: float, t: int, m: int, T: int
) -> float:
    """Heavy-tailed payoffs, Lemma 1, without the factor of 4 and with ln(m T)."""
    tail = v ** (1 / (1 + alpha)) * math.log(m * T) ** (alpha / (1 + alpha))
    return B + math.sqrt(m / lam) * tail * t ** ((1 - alpha) / (2 * (1 + alpha)))


def bkb(
    F: float, xi: float, eps: float, delta: float, lam: float, kappa: float, variances: list[float]
) -> float:
    """beta_t of BKB, Theorem 2, which multiplies the paper's deviation sigma~_t.

    `variances` are the paper's sigma~_t^2(x_s), s = 1..t.
    """
    alpha, t = (1 + eps) / (1 - eps), len(variances)
    inner = alpha * math.log(kappa**2 * t) * sum(variances) + math.log(1 / delta)
    return 2 * xi * math.sqrt(inner) + (1 + 1 / math.sqrt(1 - eps)) * math.sqrt(lam) * F

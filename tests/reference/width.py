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

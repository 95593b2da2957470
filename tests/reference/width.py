"""Confidence widths, as their theorems state them."""

import math


def srinivas(t: int, delta: float) -> float:
    """sqrt(beta_t), beta_t = 2 ln(|D| t^2 pi^2 / (6 delta)), |D| = 1 (Srinivas 2010, Theorem 1)."""
    return math.sqrt(2 * math.log(t**2 * math.pi**2 / (6 * delta)))


def chowdhury_gopalan(B: float, R: float, gain: float, delta: float) -> float:
    """B + R sqrt(2 (gamma_{t-1} + 1 + ln(1/delta))) (Chowdhury and Gopalan 2017, Theorem 2)."""
    return B + R * math.sqrt(2 * (gain + 1 + math.log(1 / delta)))

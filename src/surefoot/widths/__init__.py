"""Widths of the confidence bounds, in standard deviations: one class for each theorem.

A width is the multiplier beta in mean +- beta * deviation. `scale` multiplies all of it; at 1 it is
that of the theorem.

Where `norm_bound`, a bound on ||f||, may be None it is found by doubling: it starts at the size of
the rewards, v^(1/(1+a)) or the noise, and doubles after 4, 16, 256, 65536, ... rewards. The bounds
of the theorem then hold, with its probability 1 - delta, simultaneously in all rounds after it has
reached ||f||: after at most 2^(2 ||f|| / start) rewards, and from the first if ||f|| is at most the
start. There is no guarantee before. For sub-Gaussian noise and features that represent the kernel
it is at least twice the norm that the rewards certify (notes/guarantees.md, Proposition 8): the
bounds hold in every round in which that is ||f||. Where `horizon` may be None it starts at 1024
and doubles whenever it is reached, each epoch with its share of delta; the bounds then hold in all
rounds, without end, with probability 1 - delta.
"""

from surefoot.widths.gaussian import bkb, chowdhury_gopalan, constant, srinivas
from surefoot.widths.heavy_tailed import (
    adaptive_fourier,
    adaptive_nystrom,
    truncated,
)
from surefoot.widths.least_squares import self_normalised
from surefoot.widths.mixture import analytic_mixture, dual_mixture
from surefoot.widths.progress import Progress, Width

__all__ = [
    "Progress",
    "Width",
    "adaptive_fourier",
    "adaptive_nystrom",
    "analytic_mixture",
    "bkb",
    "chowdhury_gopalan",
    "constant",
    "dual_mixture",
    "self_normalised",
    "srinivas",
    "truncated",
]

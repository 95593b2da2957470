"""The Value-at-Risk of a continuous environment as the minimiser of the pinball loss."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from surefoot._internal import checks

_LARGEST_FIRST_SAMPLE = 4096


def pinball(residual: Tensor, level: float) -> Tensor:
    """rho_level(w) = level w for w >= 0 and (level - 1) w below, of each residual w = value - nu.

    Its expectation over the values is least where nu is their lower level-quantile (Koenker &
    Bassett 1978; Nguyen et al. 2021, section 3.5). It has the shape and the unit of the residuals.
    """
    return torch.maximum(level * residual, (level - 1.0) * residual)


@torch.no_grad()
def quantile_by_pinball(
    draw: Callable[[int], Tensor],  # k -> (..., k)
    level: float,
    *,
    steps: int = 200,
    batch: int = 128,
) -> Tensor:
    """VaR_level (...) of the values that `draw` samples, in their unit and to statistical accuracy.

    draw(k) gives k fresh values h(Z) of each of (...) functions, of its own randomness. Minimises
    E[rho(h(Z) - nu)] by stochastic gradient (Nguyen et al. 2021, eq. 6), all functions at once.
    The error is about that of the quantile of steps * batch values, with a standard deviation of
    sqrt(level (1 - level) / (steps * batch)) / density, but only `batch` values (and one first
    sample) are ever held at a time. Raises `InvalidInput` for a level outside (0, 1), or less
    than one step or value a step.
    """
    level = checks.probability("level", level)
    steps, batch = checks.count("steps", steps), checks.count("batch", batch)
    first = draw(_first_sample(level))
    nu, scale = _start(first, level)
    least, most = first.amin(-1), first.amax(-1)
    known = first.shape[-1] / batch  # the first sample is worth as many steps
    total, counted = torch.zeros_like(nu), 0
    for step in range(1, steps + 1):
        values = draw(batch)
        least = torch.minimum(least, values.amin(-1))
        most = torch.maximum(most, values.amax(-1))
        below = (values <= nu.unsqueeze(-1)).to(nu.dtype).mean(-1)
        # P(h(Z) <= nu) - level is the gradient. Steps that shrink more slowly than 1 / step, and
        # the average of the iterates, make errors in `scale` harmless (Polyak & Juditsky 1992).
        nu = nu - scale * (known + step) ** (-2 / 3) * (below - level)
        nu = nu.clamp(least, most)  # out of a flat tail there is no way back
        if 2 * step > steps:  # the first half still remembers where it began
            total, counted = total + nu, counted + 1
    return total / counted


def _first_sample(level: float) -> int:
    """Enough values that some forty lie beyond the quantile, on its nearer side."""
    wanted = math.ceil(40 / min(level, 1.0 - level))
    return min(max(wanted, 1024), _LARGEST_FIRST_SAMPLE)


def _start(values: Tensor, level: float) -> tuple[Tensor, Tensor]:
    """The quantile of a first sample, and the inverse of the density there.

    The inverse density turns a difference of probabilities into one of values: it is the unit of
    the steps, and the step of Newton's method. It is zero where the quantile lies in an atom, which
    the first sample has then found.
    """
    ordered = values.sort(-1).values
    n = ordered.shape[-1]
    half = min(level, 1.0 - level) / 2
    at, below, above = (
        min(max(math.ceil(n * p - 1e-9) - 1, 0), n - 1) for p in (level, level - half, level + half)
    )
    below, above = min(below, max(at - 1, 0)), max(above, min(at + 1, n - 1))
    scale = (ordered[..., above] - ordered[..., below]) * (n / (above - below))
    return ordered[..., at].clone(), scale

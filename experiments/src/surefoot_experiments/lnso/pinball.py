"""The Value-at-Risk of a continuous environment as the minimiser of the pinball loss."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from surefoot_experiments.baselines.arguments import count, probability

_LARGEST_FIRST_SAMPLE = 4096


def pinball(residual: Tensor, level: float) -> Tensor:
    """Pinball loss: level * w for residuals w >= 0, and (level - 1) * w below.

    Its expectation over values v, with w = v - nu, is least where nu is their lower
    level-quantile.

    Args:
        residual: Residuals w, of any shape.
        level: The level, in (0, 1).

    Returns:
        The loss of each residual, in its unit.

    References:
        Koenker & Bassett 1978; Nguyen et al. 2021, Section 3.5.

    Example:
        >>> import torch
        >>> from surefoot_experiments.lnso.pinball import pinball
        >>> pinball(torch.tensor([-1.0, 2.0], dtype=torch.float64), 0.25)
        tensor([0.7500, 0.5000], dtype=torch.float64)
    """
    return torch.maximum(level * residual, (level - 1.0) * residual)


@torch.no_grad()
def quantile_by_pinball(
    draw: Callable[[int], Tensor],
    level: float,
    *,
    steps: int = 200,
    batch: int = 128,
) -> Tensor:
    """Value at risk of values that can be sampled, by stochastic gradient on the pinball loss.

    All functions are optimised at once. The error is about that of the quantile of steps * batch
    values, with standard deviation sqrt(level (1 - level) / (steps * batch)) / density, but only
    `batch` values (and one first sample) are held in memory.

    Args:
        draw: Function k -> fresh values h(Z) (..., k), k of each of (...) functions.
        level: Level of the lower tail, in (0, 1).
        steps: Number of steps.
        batch: Number of values in each step.

    Returns:
        VaR_level of each function (...), in the unit of its values.

    Raises:
        InvalidInput: If `level` is outside (0, 1), or `steps` or `batch` below 1.

    References:
        Nguyen et al. 2021, eq. 6; Polyak & Juditsky 1992 for the averaging.
    """
    level = probability("level", level)
    steps, batch = count("steps", steps), count("batch", batch)
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
        # the average of the iterates, make errors in `scale` harmless.
        nu = nu - scale * (known + step) ** (-2 / 3) * (below - level)
        nu = nu.clamp(least, most)  # in a flat tail the gradient would not lead back
        if 2 * step > steps:  # the first half still depends on the start
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

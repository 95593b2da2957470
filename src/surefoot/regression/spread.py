"""Location and scale of rewards, robust to outliers."""

from __future__ import annotations

import torch
from torch import Tensor

from surefoot._internal.numbers import LAST_DIGITS, MAD_TO_SD


def median(values: Tensor, mass: Tensor) -> Tensor:
    """The (lower) median of values (n,), each counted as often as `mass` (n,) says."""
    if bool((mass == 1.0).all()):
        return values.median()
    ordered, order = values.sort()
    running = mass[order].cumsum(0)
    return ordered[int(torch.searchsorted(running, 0.5 * running[-1]))]


def robust_spread(
    rewards: Tensor,
    mass: Tensor | None = None,
    errors: Tensor | None = None,
    of_zeros: float = 1e-30,
) -> float:
    """1.4826 times the median absolute deviation; of equal rewards, what else tells their unit.

    Where more than half are equal (counts, a coarse clock), the median of the other deviations,
    so that a single outlier does not set the scale. Where all are, the median of their known
    errors, without any their magnitude.

    Args:
        rewards: Values (n,).
        mass: How many rewards each stands for (n,); one by default.
        errors: Standard errors (n,), 0 where they are unknown; none by default.
        of_zeros: The scale where all rewards are 0, without errors: small in any unit by default.

    Returns:
        The scale, in the unit of the rewards.
    """
    mass = torch.ones_like(rewards) if mass is None else mass
    center = median(rewards, mass)
    deviations = (rewards - center).abs()
    least = LAST_DIGITS * float(center.abs())
    middle = float(median(deviations, mass))
    if middle > least:
        return MAD_TO_SD * middle
    apart = deviations > least
    if bool(apart.any()):
        return MAD_TO_SD * float(median(deviations[apart], mass[apart]))
    known = rewards[:0] if errors is None else errors[errors > 0.0]
    return float(known.median()) if len(known) else float(center.abs()) or of_zeros

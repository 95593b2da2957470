"""How far rewards spread, whatever a few of them do."""

from __future__ import annotations

import torch
from torch import Tensor

MAD_TO_SD = 1.4826  # of a normal distribution


def median(values: Tensor, mass: Tensor | None = None) -> Tensor:
    """The (lower) median of values (n,), each as often as `mass` (n,) says."""
    if mass is None:
        return values.median()
    ordered, order = values.sort()
    running = mass[order].cumsum(0)
    return ordered[int(torch.searchsorted(running, 0.5 * running[-1]))]


def robust_spread(rewards: Tensor, mass: Tensor | None = None) -> float:
    """1.4826 times the median absolute deviation; 1 where the rewards are all the same.

    Where more than half are the same (counts, a coarse clock), the median of the other deviations,
    so that a single wild value does not set the scale.
    """
    centre = median(rewards, mass)
    deviations = (rewards - centre).abs()
    least = 1e-12 * float(centre.abs())
    middle = float(median(deviations, mass))
    if middle > least:
        return MAD_TO_SD * middle
    apart = deviations > least
    if not bool(apart.any()):
        return 1.0
    return MAD_TO_SD * float(median(deviations[apart], None if mass is None else mass[apart]))

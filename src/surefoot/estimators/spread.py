"""How far rewards spread, whatever a few of them do."""

from __future__ import annotations

from torch import Tensor

MAD_TO_SD = 1.4826  # of a normal distribution


def robust_spread(rewards: Tensor) -> float:
    """1.4826 times the median absolute deviation; 1 where the rewards are all the same.

    Where more than half are the same (counts, a coarse clock), the median of the other deviations,
    so that a single wild value does not set the scale.
    """
    centre = rewards.median()
    deviations = (rewards - centre).abs()
    apart = deviations[deviations > 1e-12 * centre.abs()]
    if len(apart) == 0:
        return 1.0
    middle = deviations.median()
    return MAD_TO_SD * float(middle if middle > 1e-12 * centre.abs() else apart.median())

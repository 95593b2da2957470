"""Names of what is reported of rewards, for programs that do not load torch."""

from __future__ import annotations

from typing import Literal, get_args

Estimand = Literal["location", "median", "mean"]

ESTIMANDS: tuple[str, ...] = get_args(Estimand)
"""The center of the fitted noise, and the median and the mean of the rewards."""

"""A vertical axis that stays readable when one measurement is a thousand times the others."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

FENCE = 3.0  # interquartile ranges: far out by Tukey's rule (Exploratory Data Analysis, 1977)
MARGIN = 0.06  # of the range, kept free at both ends


@dataclass(frozen=True)
class Range:
    """The ends of an axis; what lies beyond is drawn at the border."""

    low: float
    high: float

    @classmethod
    def of(
        cls,
        values: Iterable[float],
        shown: Iterable[float] = (),
        *,
        margin: float = MARGIN,
    ) -> "Range":
        """The range of `values` up to their outer fences, widened to hold all of `shown`."""
        data = np.asarray(list(values), dtype=float)
        always = np.asarray(list(shown), dtype=float)
        data, always = data[np.isfinite(data)], always[np.isfinite(always)]
        ends = list(always)
        if data.size:
            first, third = np.quantile(data, [0.25, 0.75])
            reach = FENCE * (third - first)
            near = data[(data >= first - reach) & (data <= third + reach)]
            ends += [near.min(), near.max()]
        if not ends:
            return cls(0.0, 1.0)
        low, high = float(min(ends)), float(max(ends))
        pad = margin * (high - low) or 0.5 * abs(high) or 0.5
        return cls(low - pad, high + pad)

    def clip(self, value: float) -> float:
        """`value`, or the border just inside the axis when it lies beyond."""
        inset = 0.02 * (self.high - self.low)
        return min(max(value, self.low + inset), self.high - inset)

    def side(self, value: float) -> int:
        """-1 below the axis, 1 above it, 0 on it."""
        return int(value > self.high) - int(value < self.low)

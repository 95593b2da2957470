"""The measurements of a run as arrays, for optimisers that are written here."""

from __future__ import annotations

import numpy as np

from surefoot_experiments.scoreboard.space import Point, Space


class History:
    """Measured points in coordinates of [0, 1]; crashes count as the largest measurement."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._coordinates: list[np.ndarray] = []
        self._values: list[float] = []

    def __len__(self) -> int:
        return len(self._values)

    def add(self, point: Point, value: float) -> None:
        """A measurement, NaN for a crash."""
        self._coordinates.append(self.space.encode(point))
        self._values.append(value)

    @property
    def coordinates(self) -> np.ndarray:  # (n, width)
        """Where was measured."""
        return np.array(self._coordinates)

    @property
    def values(self) -> np.ndarray:  # (n,)
        """What was measured."""
        values = np.array(self._values)
        ran = values[~np.isnan(values)]
        return np.where(np.isnan(values), ran.max() if ran.size else 0.0, values)

    @property
    def best(self) -> Point:
        """The point with the smallest measurement."""
        return self.space.decode(self._coordinates[int(self.values.argmin())])

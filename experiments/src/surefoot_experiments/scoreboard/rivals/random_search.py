"""Uniform random search."""

from __future__ import annotations

import math

import numpy as np

from surefoot_experiments.scoreboard.space import Point, Space

PACKAGES = ("numpy",)


class RandomSearch:
    """Uniform points; recommends the point with the best measurement."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._generator = np.random.default_rng(seed)
        self._best = space.decode([0.5] * space.width)
        self._lowest = math.inf

    def ask(self) -> Point:
        """A random point."""
        return self._space.sample(self._generator)

    def tell(self, point: Point, value: float) -> None:
        """Keep the point if no measurement was lower."""
        if value < self._lowest:
            self._best, self._lowest = point, value

    def recommend(self) -> Point:
        """The point with the lowest measurement; the middle while every one crashed."""
        return self._best


def create(space: Space, seed: int, budget: int) -> RandomSearch:
    """A run of random search."""
    return RandomSearch(space, seed)

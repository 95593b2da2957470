"""Ax with its default generation strategy and outcome constraints."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot_experiments.scoreboard.rivals.ax_client import LOSS, PACKAGES, Ax
from surefoot_experiments.scoreboard.space import Point, Space

__all__ = ["PACKAGES", "create"]


class ConstrainedAx(Ax):
    """An Ax client with upper limits; recommends `get_best_parameterization`."""

    def __init__(self, space: Space, seed: int, limits: Mapping[str, float]) -> None:
        super().__init__(space, seed)
        self._client.configure_optimization(
            objective=f"-{LOSS}",
            outcome_constraints=[f"{name} <= {limit!r}" for name, limit in limits.items()],
        )

    def tell(self, point: Point, value: float, **others: float) -> None:
        """Complete the trial, constraints included."""
        self._client.complete_trial(self._trial, raw_data={LOSS: value, **others})

    def recommend(self) -> Point:
        """The best parameters; none where Ax raises an error, since no trial is feasible."""
        try:
            return super().recommend()
        except ValueError:
            return {}


def create(space: Space, seed: int, budget: int, limits: Mapping[str, float]) -> ConstrainedAx:
    """A run of Ax."""
    return ConstrainedAx(space, seed, limits)

"""surefoot's default with constraints, through its Optuna sampler."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from surefoot import Constraint, Problem
from surefoot.integrations.optuna import CONSTRAINTS, SurefootSampler
from surefoot_experiments.scoreboard.rivals.optuna_samplers import Study
from surefoot_experiments.scoreboard.space import Point, Space

PACKAGES = ("surefoot", "torch", "optuna")


class ConstrainedSurefoot(Study):
    """`SurefootSampler` with upper limits of confidence 0.95."""

    def __init__(self, space: Space, seed: int, limits: Mapping[str, float]) -> None:
        constraints = {name: Constraint(maximum=limit) for name, limit in limits.items()}
        super().__init__(space, SurefootSampler(Problem(outcomes=constraints), seed=seed))

    def tell(self, point: Point, value: float, **others: float) -> None:
        """Complete the trial, with its constraints as a user attribute."""
        self._trial.set_user_attr(CONSTRAINTS, others)
        super().tell(point, value)

    def recommend(self) -> Point:
        """The recommendation; none if no configuration is known to satisfy the constraints."""
        with warnings.catch_warnings(action="ignore"):
            best = self.sampler.belief(self.study).recommend()
        return dict(best.params) if best.feasible else {}


def create(
    space: Space, seed: int, budget: int, limits: Mapping[str, float]
) -> ConstrainedSurefoot:
    """A run of surefoot."""
    return ConstrainedSurefoot(space, seed, limits)

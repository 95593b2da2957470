"""surefoot's default, through its Optuna sampler, with nothing set."""

from __future__ import annotations

from typing import Any

from surefoot.integrations.optuna import SurefootSampler
from surefoot_experiments.scoreboard.rivals.optuna_samplers import Study
from surefoot_experiments.scoreboard.space import Point, Space

PACKAGES = ("surefoot", "torch", "optuna")


class Surefoot(Study):
    """`SurefootSampler`; recommends the point with the best posterior mean."""

    def recommend(self) -> Point:
        """`belief(study).recommend().params`."""
        found = self.sampler.belief(self.study).recommend()
        self.interval = (found.lower, found.upper)
        return dict(found.params)


def create(space: Space, seed: int, budget: int, **settings: Any) -> Surefoot:
    """A run of surefoot; settings are those of `SurefootSampler`."""
    return Surefoot(space, SurefootSampler(seed=seed, **settings))

"""Search in a box: gradients from many starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.threads import one_thread
from surefoot.acquisition.argmax import best_arm, best_point, scores
from surefoot.acquisition.policy import Policy, Score, Situation
from surefoot.acquisition.recommendation import interval, value_of
from surefoot.acquisition.search import By, no_environment
from surefoot.spaces import Box
from surefoot.spaces.locations import Place, Where, locate
from surefoot.spaces.pending import Waiting
from surefoot.types import Recommendation

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_NO_BETTER = 1e-3  # of the spread of the rewards: then a point that was measured is recommended
_ANCHORS = 8  # measured points of largest mean, to look around


class BoxSearch:
    """The point of largest score that is found."""

    observed = False

    def __init__(self, space: Box) -> None:
        self.seen = space

    def locate(self, where: Where, environment: Any, waiting: Waiting) -> Place:
        no_environment(environment)
        return locate(self.seen, where, waiting.queries)

    def note(self, place: Place) -> None:
        """Nothing is kept."""

    def spread(self, number: int, generator: torch.Generator) -> list[Place]:
        if number == 0:
            return []
        return [Place(point, None) for point in self.seen.sample(number, generator)]

    def guess(self, kernel: Kernel | None, waiting: Waiting, generator: torch.Generator) -> Place:
        """A random one."""
        return Place(self.seen.sample(1, generator)[0], None)

    def listed(self, arms: Sequence | Tensor) -> list[Place]:
        points = checks.matrix("arms", arms, self.seen.lower.device)
        return [locate(self.seen, point, {}) for point in points]

    def best(self, policy: Policy, situation: Situation, among: list[Place] | None) -> Place:
        score = policy(situation)
        if among is not None:
            return among[best_arm(score, torch.stack([place.point for place in among]))]
        anchors = _best_sites(situation.posterior.mean, situation.sites)
        with one_thread():
            return Place(best_point(score, self.seen, situation.generator, anchors), None)

    def recommend(self, situation: Situation, by: By) -> Recommendation:
        score = value_of(by)(situation)
        generator = torch.Generator().manual_seed(0)  # leaves the run's draws alone
        measured = _best_sites(score, situation.sites)
        with one_thread():
            point = best_point(score, self.seen, generator, measured)
        gain = scores(score, torch.stack([point, measured[0]]))
        if float(gain[0] - gain[1]) <= _NO_BETTER * situation.posterior.scale:
            point = measured[0].clone()
        return Recommendation(point, None, *interval(situation, point))

    def state(self, tensors: dict[str, Tensor]) -> None:
        """Nothing is kept."""

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Nothing was kept."""


def _best_sites(score: Score, sites: Tensor) -> Tensor:
    return sites[scores(score, sites).argsort(descending=True)[:_ANCHORS]]
